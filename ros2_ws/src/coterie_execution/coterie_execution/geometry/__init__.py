"""Numbers a robot can trust: reach, sight, ways and times."""
