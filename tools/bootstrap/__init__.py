"""What ./coterie does before the command line starts: check, install, build, activate."""
