"""Documents about an invented land: the haystack, text and reader shared by rag, cite and rerank."""
