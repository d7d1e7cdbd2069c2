"""Guard, permits, stops and logs; free of ROS."""
