"""Training sets: endless proven rows, and rewards."""
