"""Documents about an invented land: the haystack, the text and the reader that rag, cite and rerank share."""
