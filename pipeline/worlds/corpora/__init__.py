"""Users' own corpora: passages with questions, running documents, and labelled texts, read from the shapes they have."""
