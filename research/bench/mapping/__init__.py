"""`bench map`: maps against the things that are there."""
