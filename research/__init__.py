"""Studies with Coterie: benches of the papers, play, annotation, what-if."""
