"""A robot's agent: checks its share against its body, then carries it out skill by skill."""
