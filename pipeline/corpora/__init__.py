"""Users' own texts: passages with questions, documents, and labelled texts."""

from __future__ import annotations
