"""Benchmarks of Coterie: episodes, baselines, metrics and tables, free of ROS."""
