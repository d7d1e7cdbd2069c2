"""`bench calibration`: stated confidences against how often they are right."""
