"""What a robot does: behavior trees over skills, and the geometry behind them; free of ROS."""
