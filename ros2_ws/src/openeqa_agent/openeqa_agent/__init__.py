"""Open questions about a place, answered from a map, from frames, or by going to look."""
