"""The world of utterances: what people write to a service, each message with one intent that no single word tells.

An intent is an act and a thing: to cancel a library card, to ask when a rod licence runs out. Every act is worded in
the same ways for all things, and every thing for all acts. What else a message says (greetings, circumstances, what is
*not* wanted, other things that are in order) has the words of other intents.
"""

from pipeline.worlds.utterances.grammar import DOMAINS, OTHER, Domain, Intent, domain, kinds, phrase, source_digest
from pipeline.worlds.utterances.texts import RESERVE, chosen, texts
from pipeline.worlds.utterances.writing import mentioned, write

__all__ = [
    "DOMAINS",
    "OTHER",
    "RESERVE",
    "Domain",
    "Intent",
    "chosen",
    "domain",
    "kinds",
    "mentioned",
    "phrase",
    "source_digest",
    "texts",
    "write",
]
