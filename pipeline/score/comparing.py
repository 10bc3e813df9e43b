"""Scores of several models side by side, and the differences of each pair over the rows that both replied to."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from pipeline.rows import kilo
from pipeline.score.cells import Tables
from pipeline.score.lengths import Difference, difference
from pipeline.score.results import ANSWERED, Cell, plain_result
from pipeline.score.views import RESULTS_VERSION, result_of
from pipeline.terminal.text import table
from pipeline.version import __version__


def comparison_page(models: Sequence[Tables]) -> str:
    """Return tables of several models: their scores by family and by length, and the differences of each pair."""
    parts = ["\n".join(["models, each with the windows of its own tokenizer", table(list(map(_model, models)))])]
    for name in ("family", "length"):
        parts.append(f"by {name}: the score of each model\n{table(_side_by_side(models, name))}")
    pairs = [_pair(each) for each in differences_of(models)]
    return "\n\n".join([*parts, f"differences over the rows that both replied to, by id\n{table(pairs)}"])


def comparison_of(models: Sequence[Tables], *, rows: bool = False, by: Sequence[str] = ()) -> dict[str, Any]:
    """Return the results of several models and their differences as one JSON object."""
    return {
        "results_version": RESULTS_VERSION,
        "carrara": __version__,
        "models": [result_of(each, rows=rows, by=by) for each in models],
        "differences": [plain_result(each) for each in differences_of(models)],
    }


def differences_of(models: Sequence[Tables]) -> list[Difference]:
    """Return how much better each model is than every later one, over all rows."""
    return [difference(other.scored, one.scored) for one, other in combinations(models, 2)]


def _model(tables: Tables) -> dict[str, Any]:
    scored, whole = tables.scored, tables.overall
    return {
        "model": scored.model,
        "tokenizer": scored.tokenizer,
        "largest window": scored.window,
        "rows": scored.counts["rows"],
        "answered": scored.counts[ANSWERED],
        "headline": "-" if whole is None else f"{whole.mean:.6f}",
        "95%": "-" if whole is None else f"{whole.low:.3f} - {whole.high:.3f}",
    }


def _side_by_side(models: Sequence[Tables], name: str) -> list[dict[str, Any]]:
    found = [{cell.place[name]: cell for cell in each.by(name)} for each in models]
    places = sorted({place for cells in found for place in cells}, key=lambda place: (str(type(place)), place))
    return [_line(place, models, [cells.get(place) for cells in found], name) for place in places]


def _line(
    place: str | int | float, models: Sequence[Tables], cells: Sequence[Cell | None], name: str
) -> dict[str, Any]:
    known = next(cell for cell in cells if cell)
    return {
        name: kilo(place) if isinstance(place, int) else str(place),
        "rows": known.rows,
        **{each.scored.model: _score(cell) for each, cell in zip(models, cells, strict=True)},
        "chance": "-" if known.chance is None else f"{known.chance:.3f}",
    }


def _score(cell: Cell | None) -> str:
    return "not asked" if cell is None else f"{cell.mean:.3f} ({cell.low:.3f} - {cell.high:.3f})"


def _pair(each: Difference) -> dict[str, Any]:
    known = each.mean is not None and each.low is not None and each.high is not None
    return {
        "models": f"{each.second} minus {each.first}",
        "rows of both": each.rows,
        "difference": f"{each.mean:+.3f}" if known else "-",
        "95%": f"{each.low:+.3f} to {each.high:+.3f}" if known else "-",
        "better": each.better,
        "worse": each.worse,
    }
