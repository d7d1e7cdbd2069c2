"""Adapters to real robots: their skills through Nav2, MoveIt or own drivers, and observations."""
