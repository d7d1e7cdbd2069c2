"""Pages in the browser: annotating what requests call for, on a map in 3D."""
