"""Commands about one real robot: what is missing for it, and a package for its own driver."""
