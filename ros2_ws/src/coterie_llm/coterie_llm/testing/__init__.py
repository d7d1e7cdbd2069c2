"""What tests of any package may use: a local model endpoint that can fail in every way."""
