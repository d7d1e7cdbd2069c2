"""Observations of a real robot, from its map, cameras, detectors and tf; only ros.py needs ROS."""
