"""What robots believe of a house; free of ROS."""
