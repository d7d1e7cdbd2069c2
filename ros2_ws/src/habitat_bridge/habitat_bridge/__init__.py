"""Worlds behind one Simulator protocol, and the bridge node that serves them on ROS topics."""
