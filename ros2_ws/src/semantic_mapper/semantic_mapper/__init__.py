"""RGB-D images and detections to one semantic map of a team."""
