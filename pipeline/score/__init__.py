"""Scoring predictions against a split: reading, joining, scoring, and averaging with intervals and chance."""
