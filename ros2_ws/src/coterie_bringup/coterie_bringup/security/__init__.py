"""DDS security of a team: who may do what, keys and certificates, and that they are enforced."""
