"""What is seen to hold: proofs of shards, chance, and the manifest that they seal; copies held to both."""
