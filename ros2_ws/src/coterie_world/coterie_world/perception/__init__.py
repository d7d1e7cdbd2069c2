"""From images to things in space: detections lifted by depth, images and detections paired."""
