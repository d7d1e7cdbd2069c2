"""`bench emos`: tasks of a team with the goals hidden."""
