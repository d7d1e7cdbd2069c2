"""EMOS teams: resumes from URDFs, a leader, discussion, assignment and execution."""
