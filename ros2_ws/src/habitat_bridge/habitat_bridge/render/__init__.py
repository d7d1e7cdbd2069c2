"""Images of a house by ray casting and rasterization: color, depth, semantics."""
