"""Frozen splits in the shapes of other harnesses: one file for each, registered in ``EXPORTS``."""

from __future__ import annotations

from pipeline.errors import ExportError, unknown
from pipeline.exports.base import Export, Written, export
from pipeline.exports.evalscope import EVALSCOPE
from pipeline.exports.inspect_ai import INSPECT
from pipeline.exports.lighteval import LIGHTEVAL
from pipeline.exports.lm_eval import LM_EVAL
from pipeline.exports.verifiers import VERIFIERS

HARNESSES: tuple[Export, ...] = (LM_EVAL, INSPECT, LIGHTEVAL, EVALSCOPE, VERIFIERS)
EXPORTS = {each.name: each for each in HARNESSES}


def export_of(name: str) -> Export:
    """Return the export of a harness.

    Raises:
        ExportError: for an unknown name, with the nearest right one.
    """
    if name not in EXPORTS:
        raise ExportError(unknown("harness", name, EXPORTS))
    return EXPORTS[name]


__all__ = ["EXPORTS", "Export", "Written", "export", "export_of"]
