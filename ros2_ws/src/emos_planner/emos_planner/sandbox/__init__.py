"""The sandbox for code that a model wrote, and its rules."""
