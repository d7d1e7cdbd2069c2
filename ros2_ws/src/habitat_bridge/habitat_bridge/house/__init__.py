"""The generator of houses: rooms, structure, furniture, small things, and their checks."""
