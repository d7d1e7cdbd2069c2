"""URDFs: read safely, as a tree of links and joints, with the shapes that can be read."""
