"""code.find: which function matches a description in other words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from pipeline.tasks.base import CorpusKnob, Key
from pipeline.tasks.code import solve, text
from pipeline.tasks.code.base import Drawn, FilesTask, Packages, Written
from pipeline.tasks.code.reading import Repository
from pipeline.tasks.lines import Dealer
from pipeline.tasks.solving import ReadError
from pipeline.worlds.forge import (
    DOCS,
    Step,
    among_others,
    draw_steps,
    finish,
    in_words,
    list_function,
    near_misses,
    started,
    told_in_doc,
)

NEAR = (8, 0, 4)


class Find(FilesTask):
    """A function that is described by what it does. `complexity` is the number of steps."""

    __slots__ = ()

    subtask = "find"
    title = "the function that does what is described in other words"
    complexities = (3, 5)
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = MappingProxyType({"near": NEAR, "docs": DOCS})
    reply = text.NAME

    def drawn(self, dealer: Dealer) -> Drawn:
        """Draw steps, and near misses that each differ in one way, every function in a file of its own."""
        rng, stratum = dealer.rng("steps"), dealer.stratum
        wanted = self.knob(stratum, "near")
        near = list[Sequence[Step]]()
        while True:
            steps = draw_steps(rng, stratum.complexity, of_row=True)
            near = [*near_misses(rng, steps, wanted)]
            if len(near) == wanted:
                break
        packages, docs = Packages(dealer.rng("files")), self.docs(stratum)
        files, names = list[Written](), list[str]()
        for at, some in enumerate([steps, *near]):
            module = started(*packages.new())
            name = module.namer.function()
            doc = told_in_doc(module.namer.rng, some, docs)
            among_others(module, partial(list_function, module, name, some, doc))
            finish(module)
            files.append(Written(module.text, "decoy" if at else "relevant"))
            names.append(name)
        shown = {
            "asked": "function",
            "steps": [list(step) for step in steps],
            "names": names,
            "dealt": dealer.dealt,
            "guesses": {"uniform": 0.0, "any_like_it": 1 / len(names)},
        }
        question = text.FOUND.format(steps=in_words(dealer.rng("wording"), steps))
        return Drawn(question, Key.accepting(names[0]), files, shown)

    def solved(self, repository: Repository) -> tuple[str, ...]:
        """Run every function over lists, and return the one that does what is asked."""
        found = solve.matching(repository)
        if len(found) != 1:
            raise ReadError(f"{len(found)} functions do what is described")
        return (found[0].own,)
