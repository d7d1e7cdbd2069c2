"""`bench openeqa`: open questions, episodic and active."""
