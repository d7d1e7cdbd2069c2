"""`bench models`: every decision of the stack put to rules, oracle, guesser and models."""
