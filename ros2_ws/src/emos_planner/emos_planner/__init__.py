"""EMOS teams: a leader, discussion, assignment and execution."""
