"""Cite: answer from documents, and cite them (HELMET, section 2.1 and appendix B.2, after ALCE)."""

from pipeline.tasks.cite.task import Facets, Listing

NOTES = """\
Questions about an invented land, over documents with opaque ids. Replies state facts, or list things, each with the id
of a document that says so. The score is the plain mean of three components, as in HELMET: facts stated, statements that
their ids support, ids that support one. Ids alone decide, without a model. A single fact with its id earns two of the
three in full: read all three.
"""

TASKS = (Facets(), Listing())
