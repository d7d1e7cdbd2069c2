"""Requests in words to ranked objects of a semantic map, by several workflows."""
