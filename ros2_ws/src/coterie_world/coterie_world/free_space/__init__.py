"""Free space of a floor as cells: shortest paths over it, and its parting at narrow passages."""
