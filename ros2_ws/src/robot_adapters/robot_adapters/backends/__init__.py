"""Backends: what an adapter drives its robot with."""
