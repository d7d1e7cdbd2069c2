"""Shared ROS code of Coterie: conversions, QoS profiles, the agent node and its parameters."""
