"""People's words: reading, grounding, asking back; free of ROS."""
