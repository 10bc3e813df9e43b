"""The texts beside a published split's shards, made from its manifest: card, croissant.json, eval.yaml."""

from pipeline.card.croissant import croissant_of
from pipeline.card.evaluation import evaluation_of
from pipeline.card.facts import Facts
from pipeline.card.pages import card_of, keys_card_of

__all__ = ["Facts", "card_of", "croissant_of", "evaluation_of", "keys_card_of"]
