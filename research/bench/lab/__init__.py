"""`./coterie bench lab`: what a team does, directly in the simulator and through a lab."""
