"""Training sets: endless proven rows, rewards, and proof that no evaluation is among them."""
