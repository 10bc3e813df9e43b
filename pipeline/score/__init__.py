"""Scores of predictions: reading, joining, and averaging with intervals and chance."""
