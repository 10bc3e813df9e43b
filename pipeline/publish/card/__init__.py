"""The files published with a split's shards, made from its manifest: card, croissant.json, eval.yaml."""

from pipeline.publish.card.croissant import croissant_of
from pipeline.publish.card.evaluation import evaluation_of
from pipeline.publish.card.facts import Curve, Facts
from pipeline.publish.card.pages import card_of, keys_card_of, pages_of

__all__ = ["Curve", "Facts", "card_of", "croissant_of", "evaluation_of", "keys_card_of", "pages_of"]
