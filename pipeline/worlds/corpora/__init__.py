"""Users' own corpora: passages with questions, documents, and labelled texts, from the shapes they have."""
