"""Kinematics of a URDF: chains of joints forward and inverse, and what they hit."""
