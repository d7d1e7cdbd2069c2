"""`./coterie play`: a person is one of the agents."""
