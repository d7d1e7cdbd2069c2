"""`./coterie annotate`: which objects of a map answer which queries."""
