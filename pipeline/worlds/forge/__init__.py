"""The world `forge`: small Python packages that nobody has seen, and the logs of their changes."""

from pipeline.worlds.forge.bodies import list_function
from pipeline.worlds.forge.commits import (
    Codes,
    Commit,
    Setting,
    history,
    log_texts,
    named_only,
    set_to,
    setting,
    taken_back,
)
from pipeline.worlds.forge.modules import Module
from pipeline.worlds.forge.names import (
    WORLD,
    Domain,
    Namer,
    domains,
    package_name,
    source_digest,
    words,
)
from pipeline.worlds.forge.packages import (
    DOCS,
    among_others,
    any_function,
    commented,
    finish,
    forge,
    import_one,
    initial_of,
    pool_texts,
    started,
)
from pipeline.worlds.forge.scalars import Called, IntFunction, scalar_function
from pipeline.worlds.forge.steps import NONE, Step, draw_steps, in_words, near_misses, told_in_doc

__all__ = [
    "DOCS",
    "NONE",
    "WORLD",
    "Called",
    "Codes",
    "Commit",
    "Domain",
    "IntFunction",
    "Module",
    "Namer",
    "Setting",
    "Step",
    "among_others",
    "any_function",
    "commented",
    "domains",
    "draw_steps",
    "finish",
    "forge",
    "history",
    "import_one",
    "in_words",
    "initial_of",
    "list_function",
    "log_texts",
    "named_only",
    "near_misses",
    "package_name",
    "pool_texts",
    "scalar_function",
    "set_to",
    "setting",
    "source_digest",
    "started",
    "taken_back",
    "told_in_doc",
    "words",
]
