"""The files published with a split's shards, made from its manifest: card, croissant.json, eval.yaml."""

from pipeline.publish.card.croissant import croissant_of
from pipeline.publish.card.pages import card_of, evaluation_of, keys_card_of, pages_of
from pipeline.publish.card.tables import Curve, Facts

__all__ = ["Curve", "Facts", "card_of", "croissant_of", "evaluation_of", "keys_card_of", "pages_of"]
