"""A lab in a box: robots in a simulated house that speak only what real robots speak."""
