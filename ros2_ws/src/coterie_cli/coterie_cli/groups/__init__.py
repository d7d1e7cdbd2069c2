"""Commands as the command line groups them: their arguments and options."""
