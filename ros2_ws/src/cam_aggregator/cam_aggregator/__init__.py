"""Fuse the answers of a team into one: votes, debate, trained and label-free aggregators."""
