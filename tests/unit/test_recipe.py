from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from pipeline.assemble.plan import make_plan
from pipeline.errors import RecipeError
from pipeline.recipe import (
    load_recipe,
    shipped_recipes,
)
from pipeline.typed import (
    TIERS,
)

GOOD = """
release = "mine"
version = "0.1.0"
seed = 1
tier = "32k"
[[strata]]
family = "bio"
subtasks = ["standard"]
complexity = [1]
lengths = [2048]
rows = 2
"""


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("seed = 1", "sead = 1", r"recipe .*: unknown key 'sead': did you mean 'seed'\?"),
        ("seed = 1\n", "", "lacks 'seed'"),
        ("seed = 1", 'seed = "one"', "seed = 'one': give a whole number"),
        ('tier = "32k"', 'tier = "33k"', r"unknown tier .* '33k': did you mean '32k'\?"),
        ('tier = "32k"', 'tier = "32k"\nframe = "chatty"', r"'chatty': did you mean 'chat'\?"),
        ('tier = "32k"', 'tier = "32k"\nreserve = 0', "reserve = 0: give a whole number of at least 1"),
        ('family = "bio"', 'family = "boi"', r"unknown family 'boi': did you mean 'bio'\?"),
        ('["standard"]', '["standart"]', r"unknown subtask of bio: 'standart': did you mean 'standard'\?"),
        ('["standard"]', '"standard"', "subtasks = 'standard': give a list"),
        ("complexity = [1]", "complexity = [3]", r"complexity 3: give one of \[1\]"),
        ("lengths = [2048]", "lengths = [65536]", "length 65536 in tier 32k: give 1024 to 32768 tokens"),
        ("rows = 2", "rows = 0", "rows = 0: give a whole number of at least 1"),
        ("rows = 2", "rows = 2\nshot = 2", r"unknown key 'shot': did you mean 'shots'\?"),
        ("rows = 2", "rows = 2\n[strata.knobs]\ndense = 1.0", r"unknown knob of bio\.standard: 'dense'"),
        ("rows = 2", "rows = 2\nshots = 10", "shots = 10: give 9 at the most"),
        ("lengths = [2048]", "lengths = [2048, 2048]", "has the stratum bio.standard length 2048 complexity 1 twice"),
        ("rows = 2", "rows = ", "is not TOML"),
    ],
)
def test_what_is_wrong_with_a_recipe_is_said_in_one_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD
    with pytest.raises(RecipeError, match=said) as caught:
        make_plan(load_recipe(written(tmp_path, GOOD.replace(old, new))), ("o200k",), tmp_path / "out")
    assert "\n" not in str(caught.value).replace(str(tmp_path), "")
    assert not (tmp_path / "out").exists()


def test_unknown_recipes_get_the_nearest_name() -> None:
    with pytest.raises(RecipeError, match=r"unknown recipe '125k': did you mean '128k'\?"):
        load_recipe("125k")
    with pytest.raises(RecipeError, match=r"no recipe file 'nowhere/mine\.toml'"):
        load_recipe("nowhere/mine.toml")


SOME = {
    "ruler": ("recall", "rag"),
    "helmet": ("recall", "rag", "cite", "rerank", "icl", "longqa", "summ"),
    "languages": ("recall", "graph", "latent_list", "tabulate", "tally", "trace", "bio", "longqa"),
    "transfer": ("mrcr", "idk", "longqa", "summ", "trace"),
    "replies": ("graph", "tabulate"),
}
"""The families of recipes that have not all of them."""


def test_a_category_of_helmet_is_the_mean_of_its_data_sets() -> None:
    """All data sets have as many rows at each length: the mean over the rows of a family is that of the sets.

    A round of 151 labels takes more than 8K.
    """
    cells = load_recipe("helmet").strata
    assert len({(cell.rows, cell.full) for cell in cells}) == 1
    sets = {(cell.family, cell.subtask, cell.complexity) for cell in cells}
    lengths = {cell.length for cell in cells}
    every = {(*each, length) for each in sets for length in lengths} - {("icl", "intents", 151, 8192)}
    assert {(cell.family, cell.subtask, cell.complexity, cell.length) for cell in cells} == every
    assert len(cells) == len(every)
    assert Counter(family for family, *_ in sets) == dict(zip(SOME["helmet"], (4, 3, 2, 1, 5, 3, 1), strict=True))
    assert lengths == {8192, 16384, 32768, 65536, 131072}


@pytest.mark.parametrize("name", shipped_recipes())
def test_shipped_recipes_hold_the_release(name: str, tmp_path: Path) -> None:
    recipe = load_recipe(name)
    families = SOME.get(name, load_recipe("32k").families)
    assert make_plan(recipe, ("o200k",), tmp_path).families == recipe.families == families
    assert max(cell.length for cell in recipe.strata) <= TIERS[recipe.tier]
    for size, near, far in (("default", 25, 12), ("full", 100, 30)):
        rows: Counter[tuple[str, str, int]] = Counter()
        for cell in recipe.sized(size).strata:
            rows[cell.family, cell.subtask, cell.length] += cell.total
        if name != "smoke":
            assert all(count >= (near if length < 2**18 else far) for (*_, length), count in rows.items())
    tokens = sum(cell.length * cell.rows for cell in recipe.strata)
    subtasks = {(cell.family, cell.subtask) for cell in recipe.strata}
    assert tokens < {"32k": 2.4, "128k": 10, "1m": 32}[recipe.tier] * 1e6 * len(subtasks)


def test_the_tag_changes_with_every_cut() -> None:
    tags = [load_recipe(name).tag for name in ("32k", "32k-thinking", "smoke")]
    assert len(set(tags)) == 3
    assert load_recipe("32k").tag == load_recipe("128k").tag == load_recipe("1m").tag


def test_thinking_variants_ask_what_the_release_asks() -> None:
    plain, thinking = load_recipe("128k"), load_recipe("128k-thinking")
    assert thinking.reserve == 16384
    assert thinking.seed == plain.seed
    assert set(thinking.strata) < set(plain.strata)
