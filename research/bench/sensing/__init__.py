"""What real robots' sensing makes of simulated sensors, against the simulator's own word."""
