"""The embedded house: generator, sensors, navigation, skills."""
