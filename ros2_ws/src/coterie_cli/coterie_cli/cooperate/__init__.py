"""`./coterie cooperate`: robots reach a goal that they share, without a leader."""
