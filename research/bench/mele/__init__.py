"""`bench mele`: answers of explorers and what aggregators make of them."""
