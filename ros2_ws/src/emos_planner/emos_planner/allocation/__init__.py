"""Who does what: the assignment solver, and the checks that decide between plans."""
