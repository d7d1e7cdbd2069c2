"""`./coterie do`: a team of different robots does a task."""
