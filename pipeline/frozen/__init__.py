"""Frozen releases: locks, the differences between two locks, and the guard of a frozen folder."""
