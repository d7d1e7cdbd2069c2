"""`bench objects`: object requests on semantic maps."""
