"""Scores of predictions, with intervals and chance."""
