"""`./coterie whatif`: the same episode with one thing changed."""
