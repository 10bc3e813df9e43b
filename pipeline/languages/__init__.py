"""The fixed sentences of tasks in several languages, right by construction: no slot inflects or agrees."""

from pipeline.languages.loading import CODES, Language, asking, digest, forms_of, joined, language, languages_of, only

__all__ = ["CODES", "Language", "asking", "digest", "forms_of", "joined", "language", "languages_of", "only"]
