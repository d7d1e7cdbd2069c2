"""`./coterie demo`: a team explores a house, maps it, and answers questions on it."""
