"""From a team file to running processes: what launch files and the command line share."""
