"""Annals of an invented town as a haystack, and the reader that takes them apart: what longqa and summ share."""
