"""What families that are made of people's messages share: a reader that knows their grammar. It is no family."""

from pipeline.tasks.messages.reader import Meaning, intent_of, intents_of, read

__all__ = ["Meaning", "intent_of", "intents_of", "read"]
