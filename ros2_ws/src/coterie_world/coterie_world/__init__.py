"""The team's world model of a house: maps, memory, coverage and search beliefs; free of ROS."""
