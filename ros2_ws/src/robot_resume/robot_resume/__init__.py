"""Robot resumes: what a robot's body can do, found from its URDF."""
