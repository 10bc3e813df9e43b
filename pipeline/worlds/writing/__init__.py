"""The world of writing: short texts in many formats about many topics, by phrase grammars or from a corpus."""
