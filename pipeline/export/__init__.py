"""Frozen splits in the shapes of other harnesses: one file for each, registered in ``EXPORTS``."""

from __future__ import annotations

from pipeline.errors import ExportError, unknown
from pipeline.export.base import Export, Written, export
from pipeline.export.evalscope import EVALSCOPE
from pipeline.export.helmet import HELMET
from pipeline.export.inspect_ai import INSPECT
from pipeline.export.lighteval import LIGHTEVAL
from pipeline.export.lm_eval import LM_EVAL
from pipeline.export.longbio import LONGBIO
from pipeline.export.mrcr_v2 import MRCR_V2
from pipeline.export.openai_batch import OPENAI_BATCH, for_model
from pipeline.export.openai_mrcr import OPENAI_MRCR
from pipeline.export.ruler import RULER
from pipeline.export.verifiers import VERIFIERS

HARNESSES: tuple[Export, ...] = (
    *(LM_EVAL, INSPECT, LIGHTEVAL, EVALSCOPE, VERIFIERS),
    *(HELMET, RULER, OPENAI_MRCR, MRCR_V2, LONGBIO, OPENAI_BATCH),
)
EXPORTS = {each.name: each for each in HARNESSES}


def export_of(name: str, model: str | None = None) -> Export:
    """Return the export of a harness; only openai-batch takes a model to ask for.

    Raises:
        ExportError: for an unknown name, with the nearest right one, or a model that the harness is told otherwise.
    """
    if name not in EXPORTS:
        raise ExportError(unknown("harness", name, EXPORTS))
    if model is None:
        return EXPORTS[name]
    if name != OPENAI_BATCH.name:
        raise ExportError(f"--model {model!r} is for {OPENAI_BATCH.name}: {name} names the model when it runs")
    return for_model(model)


__all__ = ["EXPORTS", "Export", "Written", "export", "export_of"]
