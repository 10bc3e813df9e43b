"""Latent List (Michelangelo, section 2.1): what is left of a list after many operations, most of which cancel."""

from pipeline.tasks.latent_list.task import LatentList
from pipeline.worlds.programs import VIEWS

TASKS = tuple(LatentList(view) for view in VIEWS)
