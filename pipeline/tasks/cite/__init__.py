"""Cite: answer from documents, and cite them (HELMET, section 2.1 and appendix B.2, after ALCE)."""

from pipeline.tasks.cite.task import Facets, Listing

NOTES = """\
Questions about an invented land, over documents with opaque ids. Replies state facts, or list things, each with the id
of a document that says so. Three figures are given, and their plain mean as in HELMET: facts stated, statements whose
ids support them, ids that do. They are judged by ids alone, without a model. Who states a single fact with its id has
two of the three in full: look at the figures apart.
"""

TASKS = (Facets(), Listing())
