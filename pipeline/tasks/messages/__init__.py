"""What families that are made of people's messages share: a reader of messages that knows their grammar."""

from pipeline.tasks.messages.reader import Meaning, intent_of, read

__all__ = ["Meaning", "intent_of", "read"]
"""No family: it has no tasks."""
