"""Numbers a robot can trust: reach, sight, ways and times; and code over them, in a sandbox."""
