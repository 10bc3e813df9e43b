"""Annals of an invented town as a haystack, and their reader, shared by longqa and summ."""
