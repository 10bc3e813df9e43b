"""The text of `rag` prompts around their documents. All wording is Carrara's own."""

INTRODUCTION = """\
Below are documents about an invented land, one paragraph each. A question about them follows at the end, and \
everything needed to answer it is in the documents.
"""
ONE = "Reply with the answer alone, worded as in the documents, and not as a full sentence."
ALL = "Reply with the names alone, in alphabetical order, separated by commas."
