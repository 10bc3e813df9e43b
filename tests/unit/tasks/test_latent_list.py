from __future__ import annotations

import json
import pickle
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pytest

from pipeline.metrics import score
from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Layout, Needle, PublishedRow, Sample, Unit
from pipeline.tasks.latent_list import TASKS
from pipeline.tasks.latent_list import task as pool
from pipeline.tasks.latent_list.chance import _widths, named
from pipeline.tasks.latent_list.sample import lengths
from pipeline.tasks.latent_list.solve import demonstrations, read
from pipeline.worlds.programs import DO_NOTHING, INSERT_AT, POP_AT, VIEWS
from shared_folders import shared_folder
from time_bounds import within

TASK = {task.subtask: task for task in TASKS}
KINDS = ("append", "insert", "pop", "remove", "reverse", "sort")


@lru_cache
def units() -> list[Unit]:
    return list(pool.make(Streams((5, "pool")), pool.specs("32k")[0]))


def cell(view: str, complexity: int, rows: int, shots: int | None = None) -> Stratum:
    return Stratum("latent_list", view, "32k", 4096, complexity, rows, shots)


def streams(stratum: Stratum, index: int) -> tuple[Streams, Streams]:
    path = (5, stratum.subtask, stratum.complexity)
    return Streams((*path, index)), Streams(path)


def many(view: str, complexity: int) -> int:
    """Return how many samples are drawn for all tests: to draw a long program for a view is dear, but for few views."""
    return {"print": 80, "sum": 40, "len": 400}.get(view, 24) if complexity == 20 else 24


@pytest.fixture(scope="session", autouse=True)
def _shared(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let all workers of a run share what `samples` draws: minima and maxima take a tenth of a second each."""
    FACTORIES.append(tmp_path_factory)


FACTORIES: list[pytest.TempPathFactory] = []


@lru_cache
def samples(view: str, complexity: int) -> list[Sample]:
    rows = many(view, complexity)
    stratum = cell(view, complexity, rows)

    def draw(folder: Path) -> None:
        drawn = [TASK[view].sample(stratum, index, *streams(stratum, index)) for index in range(rows)]
        (folder / "samples").write_bytes(pickle.dumps(drawn))

    folder = shared_folder(FACTORIES[0], f"latent_list-{view}-{complexity}", draw)
    found: list[Sample] = pickle.loads((folder / "samples").read_bytes())
    return found


def assemble(layout: Layout, count: int) -> tuple[str, tuple[Needle, ...]]:
    """Put `count` units of filler round the placed ones, as packing does, and mark what is marked."""
    taken = [units()[i] for i in layout.filler.order.take(count).tolist()]
    filler = [unit.pieces[0].text for unit in taken]
    text, at, needles = "", 0, []
    for piece in layout.head:
        if piece.role == "demo":
            needles.append(Needle("demo", len(text), len(text) + len(piece.text), None))
        text += piece.text
    for item in layout.placed:
        here = min(range(at, count + 1), key=partial(distance, item.depth * count))
        text += "".join(filler[at:here])
        for piece in item.unit.pieces:
            if piece.role == "relevant":
                needles.append(Needle("relevant", len(text), len(text) + len(piece.text), here / count))
            text += piece.text
        at = here
    return text + "".join(filler[at:]) + "".join(piece.text for piece in layout.tail), tuple(needles)


def distance(wanted: float, place: int) -> float:
    return abs(place - wanted)


def publish(sample: Sample, count: int = 120) -> PublishedRow:
    layout = TASK[sample.stratum.subtask].layout(sample, *streams(sample.stratum, sample.index))
    text, needles = assemble(layout, count)
    return PublishedRow(
        sample.stratum, (("user", text),), text, sample.question, needles, sample.key, {"latent": sample.latent}
    )


def check(row: PublishedRow) -> list[str]:
    return TASK[row.stratum.subtask].check(row)


@lru_cache
def published() -> list[PublishedRow]:
    """Return rows of each view: 24 of each short complexity, and 16 of long programs."""
    drawn = [samples(view, complexity)[: 16 if complexity == 20 else 24] for view in VIEWS for complexity in (1, 5, 20)]
    return [publish(sample) for some in drawn for sample in some]


def test_the_solver_agrees_with_the_sampler_and_nothing_is_wrong() -> None:
    rows = published()
    assert len(rows) >= 300
    for row in rows:
        assert TASK[row.stratum.subtask].solve(row.turns) == row.key.answers == (row.key.target,)
        assert check(row) == []


def test_python_itself_gives_the_target() -> None:
    for row in published()[::7]:
        program = row.text[row.text.rindex(">> a = [") : row.text.rindex("\nOutput:")].replace(">> ", "").split("\n")
        scope: dict[str, object] = {"print": str}
        exec("\n".join(program[:-1]), scope)
        assert str(eval(program[-1], scope)) == row.key.target


def mutated(row: PublishedRow, text: str) -> PublishedRow:
    return replace(row, turns=(("user", text),))


def test_planted_faults_are_found() -> None:
    rows = [publish(sample) for sample in samples("print", 5) + samples("sum", 5)[:8]]
    for row in rows:
        marks = [needle for needle in row.needles if needle.role == "relevant"]
        demos = tuple(needle for needle in row.needles if needle.role == "demo")
        moved = replace(marks[0], char_start=marks[0].char_start + 1)
        assert check(replace(row, needles=(*demos, moved, *marks[1:])))
        assert check(replace(row, needles=(*demos, *marks[1:])))
        assert check(replace(row, needles=(*demos, *marks[::-1])))
        assert check(replace(row, key=replace(row.key, target="[0]")))
        assert check(replace(row, question=">> len(a)"))
        filler = row.text.index(">> print(", row.text.rindex(">> a = ["))
        line = Needle("relevant", filler, row.text.index("\n", filler) + 1, 0.0)
        assert check(replace(row, needles=(*demos, *marks[1:], line)))


def test_filler_that_is_not_idle_is_found() -> None:
    found: Counter[str] = Counter()
    for row in [publish(sample) for sample in samples("max", 5)]:
        end = row.text.rindex(">> max(")
        last = max(needle.char_end for needle in row.needles)
        for line in (">> a.append(1)\n", ">> a.reverse()\n", ">> a.sort()\n", ">> a.pop(0)\n>> a.insert(0, 0)\n"):
            faults = check(mutated(row, row.text[:end] + line + row.text[end:]))
            found[line] += bool(faults)
            assert faults or line != ">> a.append(1)\n"
        touching = mutated(row, row.text[:last] + ">> a.reverse()\n" * 2 + row.text[last:])
        is_reverse = row.text[:last].endswith(">> a.reverse()\n")
        assert any("a reverse touches" in fault for fault in check(touching)) == is_reverse
    assert found[">> a.sort()\n"] == 24
    assert min(found.values()) >= 18


def test_an_operation_that_can_be_left_out_is_found() -> None:
    for row in [publish(sample) for sample in samples("len", 5)]:
        start = row.text.index(">> a.reverse()\n", row.text.rindex(">> a = ["))
        stop = start + len(">> a.reverse()\n")
        marks = sorted((*row.needles[2:], Needle("relevant", start, stop, 0.0)), key=lambda mark: mark.char_start)
        grown = replace(row, needles=(*row.needles[:2], *marks), stratum=replace(row.stratum, complexity=6))
        assert any("can be left out" in fault for fault in check(grown))


@pytest.mark.parametrize("line", [">> a.clear()", ">> a.append(x)", ">> a.insert(1)", "a.pop()", ">> a.pop(1, 2)", ""])
def test_unknown_lines_are_refused(line: str) -> None:
    row = publish(samples("sum", 1)[0])
    end = row.text.rindex(">> sum(")
    with pytest.raises(ValueError, match="not an operation"):
        TASK["sum"].solve((("user", f"{row.text[:end]}{line}\n{row.text[end:]}"),))


@pytest.mark.parametrize(
    "text", ["", "Output:", ">> a = [1]\nOutput:", "x\n>> a = [1, 2]\n>> a.pop(5)\n>> len(a)\nOutput:"]
)
def test_prompts_that_hold_no_answer_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"program|nothing|list"):
        TASK["len"].solve((("user", text),))


@pytest.mark.parametrize("view", VIEWS)
def test_every_relevant_operation_is_proven(view: str) -> None:
    for sample in samples(view, 20)[:5] + samples(view, 1):
        own = read("x\n>> a = [1, 2, 3, 4, 5, 6]\n" + "\n".join((*sample.relevant, sample.question)) + "\nOutput:")
        assert own.runs() == sample.key.target
        for number in range(len(sample.relevant)):
            lines = [line for place, line in enumerate(sample.relevant) if place != number]
            try:
                less = read("x\n" + "\n".join((">> a = [1, 2, 3, 4, 5, 6]", *lines, sample.question)) + "\nOutput:")
                assert less.runs() != sample.key.target
            except ValueError:
                assert sample.latent["proven_by_failure"] > 0


def histogram(view: str) -> dict[str, float]:
    lines = [line for sample in samples(view, 20) for line in sample.relevant]
    return {kind: sum(line.startswith(f">> a.{kind}(") for line in lines) / len(lines) for kind in KINDS}


@pytest.mark.parametrize("view", ["print", "sum", "min", "max"])
def test_operations_are_balanced_at_twenty(view: str) -> None:
    shares = histogram(view)
    assert all(0.14 <= shares[kind] <= 0.27 for kind in KINDS[:5]), shares
    assert shares["sort"] >= 0.03, shares


def test_lengths_are_changed_by_four_kinds_and_dealt_evenly() -> None:
    shares = histogram("len")
    assert shares["reverse"] == shares["sort"] == 0
    assert min(shares[kind] for kind in KINDS[:4]) > 0.1
    for complexity in (1, 5, 20):
        answers = Counter(int(sample.key.target) for sample in samples("len", complexity))
        assert set(answers) == set(lengths(complexity))
        assert max(answers.values()) - min(answers.values()) <= 1


def test_lengths_have_the_parity_of_their_operations() -> None:
    assert lengths(1) == [5, 7]
    assert lengths(5) == [1, 3, 9, 11]
    assert lengths(20) == [2, *range(10, 27, 2)]


@pytest.mark.parametrize("view", ["min", "max"])
def test_slices_of_extremes_are_mostly_wide(view: str) -> None:
    for complexity in (1, 5, 20):
        spans = [sample.latent["slice"] for sample in samples(view, complexity)]
        assert sum(stop - start > 1 for start, stop in spans) >= len(spans) / 2


def test_slices_lie_within_the_list() -> None:
    for view in ("print", "sum", "min", "max"):
        for sample in samples(view, 20):
            start, stop = sample.latent["slice"]
            assert 0 <= start < stop <= len(sample.latent["final"])


def test_targets_are_spread() -> None:
    for view in ("sum", "min", "max"):
        targets = [int(sample.key.target) for sample in samples(view, 20)]
        assert 0.2 <= sum(target < 0 for target in targets) / len(targets) <= 0.8
        rows = [{"scorer": "latent_list", "subtask": view, "target": str(target)} for target in targets]
        for constant in (1, 6, 21, 500, 1000, 2000, -1000, -2000):
            assert sum(score(row, str(constant)) for row in rows) / len(rows) < 0.3


def test_relevant_operations_have_the_forms_of_filler() -> None:
    known = {line.split("(")[0] for unit in units() for line in unit.pieces[0].text.split("\n")}
    for view in VIEWS:
        for sample in samples(view, 20):
            for line in sample.relevant:
                assert line.split("(")[0] in known | {">> a.sort"}
                inside = line[line.index("(") + 1 : -1].split(", ")
                if line.startswith(">> a.insert"):
                    assert int(inside[0]) in INSERT_AT
                if line.startswith(">> a.pop(") and inside != [""]:
                    assert int(inside[0]) in POP_AT
            assert not any(
                a == b == ">> a.reverse()" for a, b in zip(sample.relevant, sample.relevant[1:], strict=False)
            )


def test_the_pool_is_distinct_and_its_lines_are_thirds() -> None:
    made = units()
    assert len(made) == pool.BLOCKS
    assert len({unit.pieces[0].text for unit in made}) == len(made)
    counts = np.bincount(pool.wheel(), minlength=len(made))
    assert counts.min() >= 1
    kinds: Counter[str] = Counter()
    for unit, count in zip(made, counts.tolist(), strict=True):
        lines = unit.pieces[0].text.split("\n")[:-1]
        kinds["idle"] += count * lines.count(DO_NOTHING)
        kinds["reverse"] += count * lines.count(">> a.reverse()")
        kinds["lines"] += count * len(lines)
        assert lines.count(">> a.reverse()") % 2 == 0
        assert lines[-1].startswith((">> a.pop(", ">> a.remove("))
    others = kinds["lines"] - kinds["idle"] - kinds["reverse"]
    assert all(0.31 < lines / kinds["lines"] < 0.36 for lines in (kinds["idle"], kinds["reverse"], others))


def test_the_filler_of_a_prompt_is_a_prefix_of_one_order() -> None:
    row = Streams((5, "filler"))
    filler = pool.filler("32k", row)
    taken = filler.order.take(20_000)
    assert (pool.filler("32k", row).order.take(100) == taken[:100]).all()
    assert len(filler.spares) == pool.MIXED_SPARES + pool.SMALL_SPARES
    assert (pool.filler("32k", row).spares == filler.spares).all()


Between = tuple[str, str, str]


def betweens(row: PublishedRow) -> Iterator[tuple[Between, bool]]:
    """Yield the kinds of each operation and of the lines before and behind it, and whether it is relevant."""
    begin = row.text.index("\n", row.text.rindex(">> a = [")) + 1
    lines = row.text[begin : row.text.rindex("\n>> ")].split("\n")
    marks = {row.text.count("\n", begin, mark.char_start) for mark in row.needles if mark.role == "relevant"}
    kinds = ["idle" if line == DO_NOTHING else line[5 : line.index("(")] for line in lines]
    for place in range(1, len(lines) - 1):
        if kinds[place] not in ("idle", "sort"):
            yield (kinds[place - 1], kinds[place], kinds[place + 1]), place in marks


def auc(scored: Sequence[tuple[float, bool]]) -> float:
    """Return the chance that a relevant operation scores higher than one of filler, ties counted half."""
    counts: dict[float, list[int]] = {}
    for value, relevant in scored:
        counts.setdefault(value, [0, 0])[relevant] += 1
    below, won = 0, 0.0
    for value in sorted(counts):
        filler, found = counts[value]
        won += found * (below + filler / 2)
        below += filler
    return won / (below * sum(found for _, found in counts.values()))


def test_neighbours_do_not_tell_relevant_operations_from_filler() -> None:
    rows = published()
    for kind in KINDS[:5]:
        seen: dict[bool, list[tuple[Between, bool]]] = {half: [] for half in (False, True)}
        for number, row in enumerate(rows):
            seen[number % 2 == 0] += [item for item in betweens(row) if item[0][1] == kind]
        scored = []
        for half in (False, True):
            found, all_of = (
                Counter(between for between, relevant in seen[half] if relevant),
                Counter(between for between, _ in seen[half]),
            )
            scored += [((found[b] + 0.1) / (all_of[b] + 1), relevant) for b, relevant in seen[not half]]
        assert auc(scored) < BOUND, (kind, auc(scored))


BOUND = 0.55
"""Radius one, kinds of lines, within each kind of operation; learnt on one half of the rows, tried on the other."""


def lines_of(row: PublishedRow) -> tuple[list[str], set[int]]:
    """Return the lines of a program, and the numbers of those that are relevant."""
    begin = row.text.index("\n", row.text.rindex(">> a = [")) + 1
    lines = row.text[begin : row.text.rindex("\n>> ")].split("\n")
    return lines, {row.text.count("\n", begin, mark.char_start) for mark in row.needles if mark.role == "relevant"}


def form(line: str) -> str:
    """Return what a line looks like: its method, its index, and whether its value is a number of the first list."""
    kind, _, inside = line[5:-1].partition("(")
    return f"{kind}({inside.split(', ')[0]})" if kind in ("insert", "pop") else f"{kind}{len(inside) == 1}"


def group(line: str) -> str:
    kind = line[5 : line.index("(")]
    return {"append": "add", "insert": "add", "pop": "take", "remove": "take"}.get(kind, kind)


def best_guesses(rows: Sequence[PublishedRow], radius: int, named: Callable[[str], str]) -> float:
    """Return how many are right of as many guesses as there are relevant lines.

    What stands `radius` lines around a line, by name, is learnt on one half of the rows and tried on the other.
    """
    seen: dict[bool, list[tuple[tuple[str, ...], bool]]] = {half: [] for half in (False, True)}
    for number, row in enumerate(rows):
        lines, marks = lines_of(row)
        names = ["", "", *("idle" if line == DO_NOTHING else named(line) for line in lines), "", ""]
        for place, line in enumerate(lines):
            if line != DO_NOTHING and not line.endswith("sort()"):
                around = (named(line), *names[place + 2 - radius : place + 3 + radius])
                seen[number % 2 == 0].append((around, place in marks))
    scored = []
    for half, items in seen.items():
        found, whole = Counter(what for what, hit in items if hit), Counter(what for what, _ in items)
        scored += [((found[what] + 0.01) / (whole[what] + 1), hit) for what, hit in seen[not half]]
    most = sum(hit for _, hit in scored)
    scored.sort(key=lambda pair: -pair[0])
    return sum(hit for _, hit in scored[:most]) / most


def test_forms_and_wider_neighbourhoods_betray_few_lines() -> None:
    rows = [publish(sample, 20) for sample in samples("print", 20) + samples("len", 20)[:80]]
    assert best_guesses(rows, 0, form) < 0.42
    assert best_guesses(rows, 2, group) < 0.48


def test_relevant_operations_with_neighbours_of_their_own_are_found() -> None:
    adds, pair = (">> a.append(", ">> a.insert("), f">> a.append(7)\n{DO_NOTHING}\n>> a.pop()\n"
    growing = [sample for sample in samples("len", 20) if sum(map(str.startswith, sample.relevant, [adds] * 20)) > 9]
    for sample in growing[:6]:
        row = publish(sample)
        text, shift, marks = row.text, 0, []
        for mark in row.needles:
            start, end = mark.char_start + shift, mark.char_end + shift
            if mark.role == "relevant" and text.startswith(adds, start):
                text = text[:start] + pair + text[start:]
                start, end, shift = start + len(pair), end + len(pair), shift + len(pair)
            marks.append(replace(mark, char_start=start, char_end=end))
        faults = check(replace(row, turns=(("user", text),), needles=tuple(marks)))
        assert any("of kind addition stand between 'removal' and 'idle'" in fault for fault in faults)
    assert len(growing) >= 6


def test_an_addition_that_nothing_parts_from_the_next_line_is_found() -> None:
    for row in [publish(sample) for sample in samples("print", 5)]:
        end = row.text.rindex(">> print(")
        faults = check(mutated(row, f"{row.text[:end]}>> a.append(7)\n>> a.pop()\n{row.text[end:]}"))
        assert any("no line that does nothing parts the addition" in fault for fault in faults)


def test_effective_complexity_is_proven_and_high() -> None:
    for view, complexity, least in EFFECTIVE:
        found = [sample.latent["effective_complexity"] for sample in samples(view, complexity)]
        assert sum(found) / len(found) >= least, (view, complexity)
    row = publish(samples("print", 5)[0])
    stated = {"latent": {**row.metadata["latent"], "effective_complexity": 1}}
    assert any("effective complexity" in fault for fault in check(replace(row, metadata=stated)))


EFFECTIVE = (
    *((view, 1, 1.0) for view in VIEWS),
    *((view, 5, 4.0) for view in ("print", "sum", "len")),
    *((view, 5, 3.0) for view in ("min", "max")),
    *((view, 20, 16.0) for view in ("print", "sum")),
    *((view, 20, 8.0) for view in ("min", "max")),
    ("len", 20, 11.0),
)


def test_effective_complexity_is_the_smallest_of_all_parts() -> None:
    for view in VIEWS:
        for sample in samples(view, 5):
            lines, sizes = sample.relevant, []
            for chosen in range(1 << len(lines)):
                part = [line for place, line in enumerate(lines) if chosen >> place & 1]
                text = "x\n" + "\n".join((">> a = [1, 2, 3, 4, 5, 6]", *part, sample.question)) + "\nOutput:"
                with suppress(ValueError):
                    sizes += [len(part)] * (read(text).runs() == sample.key.target)
            assert min(sizes) == sample.latent["effective_complexity"]


def test_depths_are_spread_and_in_order() -> None:
    stratum = cell("sum", 5, 24)
    layouts = [TASK["sum"].layout(sample, *streams(stratum, sample.index)) for sample in samples("sum", 5)]
    for number in range(5):
        depths = sorted(layout.placed[number].depth * 5 - number for layout in layouts)
        assert [bisect_left(range(1, 25), depth * 24 + 1e-9) for depth in depths] == list(range(24))
    for layout in layouts:
        assert [item.rank for item in layout.placed] == list(range(5))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("shots", [0, 1, 2, 4])
def test_demonstrations_are_right_and_never_the_key(view: str, shots: int) -> None:
    for complexity, rows in ((1, 4), (20, 1)):
        for index in range(rows):
            stratum = cell(view, complexity, 24, shots)
            row = publish(TASK[view].sample(stratum, index, *streams(stratum, index)), 40)
            assert check(row) == []
            shown = demonstrations(row.text)
            assert len(shown) == shots
            for demo, output in shown:
                assert demo.runs() == output != row.key.target
                assert {">> print(" in line for line in row.text.split("\n")} == {True, False}
            wrong = row.text.replace(f"Output: {shown[0][1]}\n", "Output: 77\n", 1) if shown else row.text
            assert bool(check(mutated(row, wrong))) == bool(shown) or wrong == row.text


def test_pieces_keep_to_the_rule_of_boundaries() -> None:
    for view in VIEWS:
        layout = TASK[view].layout(samples(view, 5)[0], *streams(cell(view, 5, 24), 0))
        for piece in layout.head:
            assert piece.text.endswith("\n")
            assert piece.text[:-1] == piece.text.strip()
            assert not piece.text.startswith("/")
        assert layout.tail[-1].text == layout.tail[-1].text.strip()
        assert [piece.role for piece in layout.head] == ["instruction", "demo", "demo", "instruction"]
        assert max(len(unit.pieces[0].text) for unit in units()) <= pool.LONGEST_UNIT


def test_baselines_are_shares_and_cheap() -> None:
    drawn = [(view, sample) for view in VIEWS for complexity in (1, 5, 20) for sample in samples(view, complexity)[:24]]
    with within(0.002 * len(drawn)):
        for view, sample in drawn:
            chances = TASK[view].baselines(sample, sample.key)
            assert all(0 <= value <= 1 for value in chances.values())
            assert chances == TASK[view].baselines(sample, sample.key)
            assert view != "print" or chances["uniform"] < 0.2


def test_the_chance_of_widths_is_a_distribution() -> None:
    for count in (1, 6, 7, 26):
        assert sum(_widths(count)) == pytest.approx(1)
    assert named([">> a.append(-7)", ">> a.pop(0)", ">> a.insert(2, 9)", ">> a.remove(3)"]) == [1, 2, 3, 4, 5, 6, -7, 9]


def test_samples_are_plain_and_the_same_again() -> None:
    for view in VIEWS:
        sample = samples(view, 20)[3]
        again = TASK[view].sample(sample.stratum, 3, *streams(sample.stratum, 3))
        assert again == sample
        assert json.loads(json.dumps(sample.latent)) == sample.latent
        assert 0 <= sample.latent["proven_by_failure"] < 1


def test_a_first_sample_is_what_it_was() -> None:
    stratum = cell("sum", 1, 24)
    sample = TASK["sum"].sample(stratum, 0, *streams(stratum, 0))
    assert (sample.relevant, sample.question, sample.key.target) == GOLDEN


GOLDEN = ((">> a.append(3346)",), ">> sum(a[3:7])", "3361")
