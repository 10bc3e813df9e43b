"""Users' own corpora: passages with questions, documents, and labelled texts, from the shapes they have."""

from __future__ import annotations
