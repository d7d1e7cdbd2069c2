"""One robot of a MELE team: explore a house, remember it, answer questions about it."""
