"""Bench of asking back: who says that a request is unclear, and who guesses."""
