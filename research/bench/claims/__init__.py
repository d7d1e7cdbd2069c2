"""`bench claims`: what a leader says of its tasks against the true house."""
