"""Freezing, extending, rebuilding and recutting releases."""
