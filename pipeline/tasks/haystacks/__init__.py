"""Haystacks that several families may hide their texts in, each with a reader that takes it out again."""

SPARES = 64
"""Spare units of a haystack that close the last gap of a prompt."""
