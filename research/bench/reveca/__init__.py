"""Cooperative household and transport worlds, baselines and the bench of REVECA."""
