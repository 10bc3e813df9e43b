"""Training sets: endless proven rows, rewards for answer and evidence, and proof that no evaluation is among them."""
