"""Object detectors for color images: what comes with Coterie, and the node that runs them."""
