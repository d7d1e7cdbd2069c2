"""`./coterie console`: one page for a running team."""
