"""A model is asked: the endpoint, runs over rows, and texts for a corpus."""
