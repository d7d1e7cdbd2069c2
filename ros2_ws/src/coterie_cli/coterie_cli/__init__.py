"""The command line `./coterie`."""
