"""The world `forge`: small Python packages that nobody has seen, and the logs of their changes."""

from pipeline.worlds.forge.bodies import list_function
from pipeline.worlds.forge.modules import Module
from pipeline.worlds.forge.names import (
    WORLD,
    Domain,
    Namer,
    domains,
    is_of_row,
    package_name,
    source_digest,
    words,
)
from pipeline.worlds.forge.packages import (
    DOCS,
    any_function,
    beside,
    commented,
    finish,
    forge,
    import_one,
    plain_function,
    pool_texts,
    started,
)
from pipeline.worlds.forge.scalars import Called, Number, scalar_function
from pipeline.worlds.forge.steps import Step, draw_steps, near_misses
from pipeline.worlds.forge.telling import told, told_in_doc

__all__ = [
    "DOCS",
    "WORLD",
    "Called",
    "Domain",
    "Module",
    "Namer",
    "Number",
    "Step",
    "any_function",
    "beside",
    "commented",
    "domains",
    "draw_steps",
    "finish",
    "forge",
    "import_one",
    "is_of_row",
    "list_function",
    "near_misses",
    "package_name",
    "plain_function",
    "pool_texts",
    "scalar_function",
    "source_digest",
    "started",
    "told",
    "told_in_doc",
    "words",
]
