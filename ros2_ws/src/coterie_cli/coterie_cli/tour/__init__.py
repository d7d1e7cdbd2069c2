"""`./coterie tour`: a team maps a house, answers questions and finds objects."""
