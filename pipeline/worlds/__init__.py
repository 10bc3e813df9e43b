"""Worlds: what tasks are drawn from. Pools of words, people, list programs."""
