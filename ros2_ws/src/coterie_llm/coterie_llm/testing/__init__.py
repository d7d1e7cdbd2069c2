"""A local model endpoint that can fail in every way, for tests of any package."""
