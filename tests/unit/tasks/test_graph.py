from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from statistics import fmean

import numpy as np
import pytest

from pipeline.baselines import READERS, open_reading
from pipeline.errors import RecipeError
from pipeline.metrics import score
from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Needle, PublishedRow, Sample
from pipeline.tasks.graph import TASKS
from pipeline.tasks.graph import task as pool
from pipeline.tasks.graph.solve import EDGE_CHARACTERS, Edge, demonstrations, read
from pipeline.worlds.graphs import RESERVED, Graph, graph

TASK = {task.subtask: task for task in TASKS}
PLACES = [(task.subtask, complexity) for task in TASKS for complexity in task.complexities]
ANSWERED = [place for place in PLACES if place[1]]
"""The places where there are answers."""
BRANCHES = (1.5, 2.0, 3.0)
ROWS = 12
NODE = "[0-9a-f]{10}"


def cell(subtask: str, complexity: int, rows: int = ROWS, **given: object) -> Stratum:
    return Stratum("graph", subtask, "32k", 8192, complexity, rows, **given)  # type: ignore[arg-type]


def streams(stratum: Stratum, index: int) -> tuple[Streams, Streams]:
    path = (5, stratum.subtask, stratum.complexity, str(stratum.knobs))
    return Streams((*path, index)), Streams(path)


@lru_cache
def samples(subtask: str, complexity: int, rows: int = ROWS) -> list[Sample]:
    stratum = cell(subtask, complexity, rows)
    return [TASK[subtask].sample(stratum, index, *streams(stratum, index)) for index in range(rows)]


def world(subtask: str, branch: float = 1.5) -> Graph:
    return graph(Streams((5,)), "32k", pool.SHAPES[subtask, branch])


def publish(sample: Sample, count: int = 250) -> PublishedRow:
    """Put `count` edges of filler round the placed ones, as packing does, and mark what is marked."""
    own, shared = streams(sample.stratum, sample.index)
    layout, known = TASK[sample.stratum.subtask].layout(sample, own, shared), pool.graph_of(own, sample.stratum)
    taken, ranks = layout.filler.order.take(count), layout.filler.ranks
    assert ranks is not None
    filler = [known.text(edge) for edge in taken[np.argsort(ranks[taken])].tolist()]
    parts = [(piece.text, piece.role) for piece in layout.head]
    done = 0
    for item in sorted(layout.placed, key=lambda placed: placed.depth):
        here = round(item.depth * len(filler))
        parts += [(line, "filler") for line in filler[done:here]]
        parts += [(piece.text, piece.role) for piece in item.unit.pieces]
        done = here
    parts += [(line, "filler") for line in filler[done:]] + [(piece.text, piece.role) for piece in layout.tail]
    at, needles = 0, []
    for text, role in parts:
        if role in ("demo", "relevant", "decoy"):
            needles.append(Needle(role, at, at + len(text), None))
        at += len(text)
    text = "".join(text for text, _ in parts)
    turns = (("user", text),)
    return PublishedRow(sample.stratum, turns, text, sample.question, tuple(needles), sample.key, {})


def check(row: PublishedRow) -> list[str]:
    return TASK[row.stratum.subtask].check(row)


def changed(row: PublishedRow, old: str, new: str) -> PublishedRow:
    """Return a row with another text of the same length, or longer at its end, so that its marks stay."""
    assert old in row.text
    return replace(row, turns=(("user", row.text.replace(old, new, 1)),))


def marked(row: PublishedRow, role: str) -> list[str]:
    return [row.text[one.char_start : one.char_end] for one in row.needles if one.role == role]


def with_line(row: PublishedRow, line: str) -> PublishedRow:
    """Return a row with one more edge behind all others."""
    return changed(row, "--- End of graph", f"{line}--- End of graph")


def without(row: PublishedRow, line: str) -> str:
    """Return the answer of a row that lacks a line of its graph; nothing if there is none."""
    begins = read(row.text).begins
    try:
        return TASK[row.stratum.subtask].solve((("user", row.text[:begins] + row.text[begins:].replace(line, "")),))[0]
    except ValueError:
        return ""


@lru_cache
def published(subtask: str, complexity: int) -> list[PublishedRow]:
    return [publish(sample) for sample in samples(subtask, complexity)]


@pytest.mark.parametrize("shape", [pool.SHAPES[place] for place in pool.SHAPES if place != ("route", 2.0)])
def test_a_world_is_a_plain_graph_with_the_degrees_of_its_shape(shape: pool.GraphShape) -> None:
    known = graph(Streams((5,)), "32k", shape)
    pairs = list(zip(known.near.tolist(), known.far.tolist(), strict=True))
    assert len({*pairs}) == len(pairs)
    assert all(near != far for near, far in pairs)
    block = len(shape.near)
    assert known.nodes % block == 0
    for ends, degrees in ((known.near, shape.near), (known.far, shape.far)):
        found = np.bincount(ends, minlength=known.nodes).reshape(-1, block)
        assert (np.sort(found, axis=1) == np.sort(degrees)).all()
    assert len({*known.names}) == known.nodes + RESERVED
    assert all(
        re.fullmatch(NODE, name) and re.search("[0-9]", name) and re.search("[a-f]", name) for name in known.names
    )
    assert known.texts() == [known.text(edge) for edge in range(len(pairs))]
    assert [edge for node in range(known.nodes) for edge in known.leaving(node)] == list(range(len(pairs)))
    assert sorted(edge for node in range(known.nodes) for edge in known.entering(node)) == list(range(len(pairs)))
    steps = np.abs((known.far - known.near + known.nodes // 2) % known.nodes - known.nodes // 2)
    assert np.percentile(steps, 99) <= 3 * shape.blur


def test_two_worlds_have_other_names() -> None:
    assert not {*world("bfs").names} & {*world("parents").names}
    assert graph(Streams((6,)), "32k", pool.SHAPES["bfs", 1.5]).names != world("bfs").names


@pytest.mark.parametrize("subtask", TASK)
def test_the_filler_of_a_prompt_is_a_prefix_of_one_order(subtask: str) -> None:
    sample = samples(subtask, max(TASK[subtask].complexities))[3]
    stratum, latent, known = sample.stratum, sample.latent, world(subtask)
    kept_out = {*latent["relevant"], *latent["decoys"], *latent["left_out"]}
    own, _ = streams(stratum, 3)
    filler = pool.filler(stratum, latent["core"], kept_out, own)
    taken = filler.order.take(len(known.ends)).tolist()
    assert sorted([*taken, *kept_out, *filler.spares.tolist()]) == list(range(len(known.ends)))
    for count in (1, 20, 25, 30, 200, 201, 3000):
        again = pool.filler(stratum, latent["core"], kept_out, own)
        assert again.order.take(count).tolist() == taken[:count]
        assert again.spares.tolist() == filler.spares.tolist()
    starts = {int(known.near[edge]) for edge in (*latent["relevant"], *latent["decoys"])}
    assert not starts & {int(known.near[edge]) for edge in taken}


@pytest.mark.parametrize("kind", PLACES)
def test_the_solver_agrees_with_the_sampler_and_nothing_is_wrong(kind: tuple[str, int]) -> None:
    for row in published(*kind):
        assert TASK[row.stratum.subtask].solve(row.turns) == row.key.answers == (row.key.target,)
        assert check(row) == []


@pytest.mark.parametrize("kind", PLACES)
def test_the_answer_is_the_same_at_every_length(kind: tuple[str, int]) -> None:
    for sample in samples(*kind)[:3]:
        for count in (30, 1000):
            row = publish(sample, count)
            assert TASK[kind[0]].solve(row.turns) == row.key.answers
            assert check(row) == []


@pytest.mark.parametrize("kind", ANSWERED)
def test_the_answer_hangs_on_relevant_edges_alone(kind: tuple[str, int]) -> None:
    for row in (publish(sample, 60) for sample in samples(*kind)[:3]):
        relevant = {*marked(row, "relevant")}
        assert len(relevant) >= (1 if kind == ("bfs", 1) else kind[1])
        graph_read = read(row.text)
        for source, target in graph_read.edges:
            line = f"{source} -> {target}\n"
            assert (without(row, line) != row.key.target) == (line in relevant)


def test_a_node_without_parents_is_asked_for_where_it_has_children() -> None:
    for row in published("parents", 0):
        listed, decoys = read(row.text), marked(row, "decoy")
        assert row.key.target == "none"
        assert marked(row, "relevant") == []
        children = listed.children[listed.asked.node]
        assert sorted(decoys) == sorted(f"{listed.asked.node} -> {child}\n" for child in children)
        assert "the list in your answer is to be empty, []" in row.text
        assert check(with_line(row, f"0123456789 -> {listed.asked.node}\n"))
        gone = "".join(line for line in row.text.splitlines(keepends=True) if line not in decoys)
        with pytest.raises(ValueError, match="no edge leads to that node or from it"):
            TASK["parents"].solve((("user", gone),))


def test_who_finds_no_parents_has_to_say_so() -> None:
    row = published("parents", 0)[0]
    for reply in ("Final Answer: []", "none", f"Node {read(row.text).asked.node} has no parents.\nFinal Answer: []"):
        assert scored(row, reply) == 1, reply
    for reply in ("", "I cannot tell.", final(read(row.text).children[read(row.text).asked.node])):
        assert scored(row, reply) == 0, reply


def test_a_question_for_no_parents_needs_a_graph_that_has_such_nodes() -> None:
    stratum = cell("parents", 0, knobs=(("branch", 2.0),))
    with pytest.raises(RecipeError, match=r"every node has a parent where branch = 2\.0: give branch = 1\.5"):
        TASK["parents"].sample(stratum, 0, *streams(stratum, 0))


def hop(edges: Sequence[Edge], node: str, steps: int) -> dict[str, int]:
    """Return all distances by relaxing every edge again and again: no code of the task's."""
    far = {node: 0}
    for _ in range(steps + 1):
        for source, target in edges:
            if source in far and far[source] + 1 < far.get(target, 1000):
                far[target] = far[source] + 1
    return far


@pytest.mark.parametrize("distance", TASK["bfs"].complexities)
def test_a_third_way_to_count_distances_agrees(distance: int) -> None:
    for row in published("bfs", distance)[:8]:
        listed = read(row.text)
        far = hop(listed.edges, listed.asked.node, distance)
        right = {node for node, steps in far.items() if steps == distance}
        assert right == {*row.key.target.split(", ")}


@pytest.mark.parametrize("branch", BRANCHES)
def test_answers_have_the_sizes_that_are_dealt(branch: float) -> None:
    for complexity in TASK["bfs"].complexities:
        stratum = cell("bfs", complexity, 24, knobs=(("branch", branch),))
        if (branch, complexity) == (3.0, 8):
            with pytest.raises(RecipeError, match=r"answers are too long .* give a complexity of \[1, 2, 4\]"):
                TASK["bfs"].sample(stratum, 0, *streams(stratum, 0))
            continue
        made = [TASK["bfs"].sample(stratum, index, *streams(stratum, index)) for index in range(24)]
        sizes = Counter(len(sample.key.target.split(", ")) for sample in made)
        assert max(sizes) <= 40
        assert min(sizes) >= (1 if complexity == 1 else 2)
        assert max(sizes.values()) - min(sizes.values()) <= 1
        assert check(publish(made[0])) == []
        assert all(sample.latent["effective_complexity"] >= complexity for sample in made)


@pytest.mark.parametrize("branch", BRANCHES[1:])
def test_parents_of_other_branches_are_proven(branch: float) -> None:
    for complexity in filter(None, TASK["parents"].complexities):
        stratum = cell("parents", complexity, knobs=(("branch", branch),))
        row = publish(TASK["parents"].sample(stratum, 1, *streams(stratum, 1)))
        assert check(row) == []
        sources = Counter(source for source, _ in read(row.text).edges)
        assert fmean(sources.values()) >= branch - 0.4


def test_planted_faults_are_found() -> None:
    for place in PLACES:
        row = published(*place)[1]
        assert check(replace(row, key=replace(row.key, answers=(row.key.target, "x"))))
        assert check(replace(row, question="Which nodes?"))
        assert check(replace(row, stratum=replace(row.stratum, complexity=3)))
        assert check(replace(row, needles=row.needles[:-1]))
        moved = replace(row.needles[-1], char_start=row.needles[-1].char_start + 1)
        assert check(replace(row, needles=(*row.needles[:-1], moved)))
        role = "decoy" if row.needles[-1].role == "relevant" else "relevant"
        assert check(replace(row, needles=(*row.needles[:-1], replace(row.needles[-1], role=role))))
        filler = next(
            Needle("relevant", at, at + EDGE_CHARACTERS, 0.0)
            for at in range(read(row.text).begins, len(row.text), EDGE_CHARACTERS)
            if at not in {needle.char_start for needle in row.needles}
        )
        assert check(replace(row, needles=(*row.needles, filler)))


@pytest.mark.parametrize("kind", PLACES)
def test_graphs_that_are_not_plain_are_found(kind: tuple[str, int]) -> None:
    row = published(*kind)[2]
    listed = read(row.text)
    source, target = listed.edges[-1]
    asked = listed.asked.node
    planted = {
        "to itself": f"{target} -> {target}\n",
        "there twice": f"{source} -> {target}\n",
        "marks are not": f"0123456789 -> {asked}\n" if kind[0] == "parents" else f"{asked} -> 0123456789\n",
    }
    for fault, line in planted.items():
        try:
            found = check(with_line(row, line))
        except ValueError as error:  # a route that parts on its way cannot be followed
            found = [str(error)]
        assert any(re.search(f"{fault}|lead on from node", one) for one in found), (fault, found)


def test_an_asked_node_that_is_its_own_parent_is_found() -> None:
    row = published("parents", 4)[0]
    asked = read(row.text).asked.node
    found = check(with_line(row, f"{asked} -> {asked}\n"))
    assert "the asked node is part of the answer" in found


def test_a_route_that_parts_anywhere_is_found() -> None:
    row = published("route", 16)[0]
    listed = read(row.text)
    node = next(source for source, _ in listed.edges if source not in row.key.target and source != listed.asked.node)
    assert any("2 edges lead on" in fault for fault in check(with_line(row, f"{node} -> 0123456789\n")))


@pytest.mark.parametrize("subtask", TASK)
def test_demonstrations_are_right_and_share_no_node(subtask: str) -> None:
    for complexity in TASK[subtask].complexities:
        for shots in (0, 1, 3):
            stratum = replace(cell(subtask, complexity), shots=shots)
            row = publish(TASK[subtask].sample(stratum, shots, *streams(stratum, shots)))
            assert check(row) == []
            shown = demonstrations(row.text)
            assert len(shown) == shots == len(marked(row, "demo"))
            for demo, answer in shown:
                assert 1 <= len(answer.split(", ")) <= 3
                other = re.search(NODE, answer.replace(demo.asked.node, ""))
                assert other
                wrong = changed(row, f"[{answer}]", f"[{answer[:-1]}{'1' if answer[-1] == '0' else '0'}]")
                assert any("demonstration" in fault for fault in check(wrong))
            if shots:
                node = shown[0][0].edges[0][0]
                assert any(
                    "nodes of another graph" in fault for fault in check(with_line(row, f"{node} -> 012345678f\n"))
                )


def test_demonstrations_of_distances_have_a_way_back() -> None:
    for row in published("bfs", 4):
        for demo, answer in demonstrations(row.text):
            walked = {demo.asked.node}
            for _ in range(demo.asked.count):
                walked = {target for source, target in demo.edges if source in walked}
            assert walked != {*answer.split(", ")}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "does not hold a graph"),
        ("--- Graph 1 ---\n--- End of graph 1 ---\n\nQuestion: What?", "does not end in a question"),
        (
            "--- Graph 1 ---\nx\n--- End of graph 1 ---\nQuestion: Which nodes are the parents of node 0123456789?",
            "edge",
        ),
        (
            "--- Graph 1 ---\n--- End of graph 1 ---\nQuestion: Which nodes are the parents of node 0123456789?",
            "no node is the answer",
        ),
        (
            "--- Graph 1 ---\n--- End of graph 1 ---\nQuestion: Which nodes are reached, in order, from node "
            "0123456789 in the first 4 steps?",
            "0 edges lead on",
        ),
    ],
)
def test_prompts_that_hold_no_answer_are_refused(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        TASK["bfs"].solve((("user", text),))


def counts(row: PublishedRow) -> tuple[Counter[str], Counter[str], set[str], str]:
    """Return how many edges lead out of each node and into it, the nodes of the answer, and the asked node."""
    listed = read(row.text)
    return (
        Counter(source for source, _ in listed.edges),
        Counter(target for _, target in listed.edges),
        {*row.key.target.split(", ")},
        listed.asked.node,
    )


def auc(scored: Iterator[tuple[int, bool]]) -> float:
    """Return the chance that a node of the answer has a higher count than another node, ties counted half."""
    seen: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for value, right in scored:
        seen[value][right] += 1
    below, won = 0, 0.0
    for value in sorted(seen):
        other, right = seen[value]
        won += right * (below + other / 2)
        below += other
    return won / (below * sum(right for _, right in seen.values()))


@pytest.mark.parametrize("count", [100, 600])
@pytest.mark.parametrize("kind", [place for place in ANSWERED if place[0] != "route" and place not in {("bfs", 8)}])
def test_numbers_of_edges_do_not_tell_answers_from_other_nodes(kind: tuple[str, int], count: int) -> None:
    tables = [counts(publish(sample, count)) for sample in samples(*kind, 120)[:: 1 if kind[1] == 1 else 2]]
    for measure in ("out", "into", "all"):
        scored = (
            ({"out": out[node], "into": into[node], "all": out[node] + into[node]}[measure], node in right)
            for out, into, right, asked in tables
            for node in sorted({*out, *into} - {asked})
        )
        assert 0.4 <= auc(scored) <= 0.6, measure


def share_of_largest(edges: Sequence[Edge]) -> float:
    """Return the share of edges in the part of a graph that holds most of them."""
    lead = {node: node for edge in edges for node in edge}

    def top(node: str) -> str:
        while lead[node] != node:
            node = lead[node]
        return node

    for source, target in edges:
        lead[top(source)] = top(target)
    return Counter(top(source) for source, _ in edges).most_common(1)[0][1] / len(edges)


@pytest.mark.parametrize("kind", [kind for kind in PLACES if kind[0] != "route"])
def test_a_prompt_is_almost_one_connected_graph(kind: tuple[str, int]) -> None:
    shares = [share_of_largest(read(publish(sample, 300).text).edges) for sample in samples(*kind)[:12]]
    assert fmean(shares) >= 0.95
    assert min(shares) >= 0.5


def scored(row: PublishedRow, reply: str) -> float:
    task = TASK[row.stratum.subtask]
    return score({"scorer": task.scorer, "question": row.question, **row.key.columns()}, reply)


def final(nodes: Sequence[str]) -> str:
    return f"Final Answer: [{', '.join(nodes)}]"


@pytest.mark.parametrize("kind", PLACES)
def test_right_answers_score_one_in_any_order_and_shortcuts_little(kind: tuple[str, int]) -> None:
    subtask, complexity = kind
    neighbours, frequent, forgetful = [], [], []
    for row in published(*kind):
        listed, nodes = read(row.text), row.key.target.split(", ")
        assert scored(row, final(nodes)) == 1
        assert scored(row, final(nodes[::-1])) == (1 if subtask != "route" else 0)
        assert scored(row, final([listed.asked.node])) == 0
        neighbours.append(scored(row, final(listed.children.get(listed.asked.node, ("none",)))))
        out, into, _, asked = counts(row)
        common = [node for node, _ in (out + into).most_common() if node != asked]
        frequent.append(scored(row, final(common[: len(nodes)])))
        level = {asked}
        for _ in range(complexity):
            level = {child for node in level for child in listed.children.get(node, ())}
        forgetful.append(scored(row, final(sorted(level))))
    assert fmean(frequent) <= 0.15
    if subtask == "bfs" and complexity > 1:
        assert fmean(neighbours) == 0
        assert max(forgetful) < 1 or complexity == 2
    if subtask == "route":
        assert fmean(neighbours) == pytest.approx(1 / complexity)
    if subtask == "parents":
        assert fmean(neighbours) <= 0.15


def test_baselines_are_what_such_readers_score() -> None:
    for place in PLACES:
        for sample, row in zip(samples(*place), published(*place), strict=True):
            chances = TASK[place[0]].baselines(sample, sample.key)
            assert all(0 <= value <= 1 for value in chances.values())
            if place[0] == "bfs":
                listed = read(row.text)
                level = {listed.asked.node}
                for _ in range(place[1]):
                    level = {child for node in level for child in listed.children.get(node, ())}
                level -= {listed.asked.node}
                right = len(level & {*row.key.target.split(", ")})
                wanted = 2 * right / (len(level) + len(row.key.target.split(", ")))
                assert chances["forgetful"] == pytest.approx(wanted, abs=1e-6)
                assert chances["neighbours"] == scored(row, final(listed.children[listed.asked.node]))


def test_readers_are_as_weak_as_they_say() -> None:
    for kind in ANSWERED:
        said: dict[str, list[float]] = defaultdict(list)
        for row in published(*kind)[:12]:
            sent = {
                "id": f"graph-{kind[0]}-{row.question}",
                "family": "graph",
                "subtask": kind[0],
                "question": row.question,
                "prompt_tokens": 131072,
                "messages": None,
                "prompt": row.text,
            }
            for name, reader in READERS.items():
                reply = reader.replies(open_reading(sent))
                assert reply is not None
                said[name].append(scored(row, reply))
        means = {name: fmean(values) for name, values in said.items()}
        assert means["all"] == 1
        assert means["no-context"] == 0
        assert means["passage"] <= 0.7 / kind[1] ** 0.5, (kind, means)
        if kind[1] > 1:
            assert max(means[name] for name in ("last32k", "first32k")) < 0.5, (kind, means)
            assert means["last-match"] <= 0.6, (kind, means)
        if kind[0] != "parents" and kind[1] > 2:
            assert means["half-name"] <= 0.75, (kind, means)


def test_samples_are_plain_and_the_same_again() -> None:
    for place in PLACES:
        sample = samples(*place)[3]
        again = TASK[place[0]].sample(sample.stratum, 3, *streams(sample.stratum, 3))
        assert again == sample
        assert json.loads(json.dumps(sample.latent)) == sample.latent


def test_asked_nodes_come_from_all_over_the_world() -> None:
    for kind in PLACES:
        known = world(kind[0])
        numbers = {name: number for number, name in enumerate(known.names)}
        asked = [numbers[re.findall(NODE, sample.question)[0]] / known.nodes for sample in samples(*kind, 120)]
        assert max(np.histogram(asked, 5, (0, 1))[0]) <= 44
        assert len({*asked}) == 120 or kind[0] != "parents"
        assert len({*asked}) >= 110
