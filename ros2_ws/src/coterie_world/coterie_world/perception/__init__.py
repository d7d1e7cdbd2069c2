"""Perception: detections lifted from images into space by depth, and images paired with them."""
