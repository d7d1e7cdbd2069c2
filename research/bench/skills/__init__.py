"""The same tasks in the same houses, directly and through a lab of real robots' interfaces."""
