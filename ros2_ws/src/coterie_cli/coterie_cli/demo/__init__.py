"""`./coterie demo`: a team explores a house and is examined on it."""
