"""Splits in the formats of other harnesses, one module for each."""

from __future__ import annotations

from importlib import import_module

from pipeline.errors import ExportError, unknown
from pipeline.export.base import Export, Written, export
from pipeline.export.openai_batch import for_model

MODULES = (
    "lm_eval",
    "inspect_ai",
    "lighteval",
    "evalscope",
    "verifiers",
    "helmet",
    "ruler",
    "openai_mrcr",
    "mrcr_v2",
    "longbio",
    "openai_batch",
    "verl",
    "nemo_evaluator",
    "nemo_skills",
    "opencompass",
    "vllm_bench",
)
"""Modules of this package with an `EXPORT`, in the order in which harnesses are listed."""

EXPORTS: dict[str, Export] = {
    each.name: each for each in (import_module(f"{__name__}.{name}").EXPORT for name in MODULES)
}
"""All exports by name."""


def export_of(name: str, model: str | None = None) -> Export:
    """Return the export of a harness; only openai-batch takes a model.

    Raises:
        ExportError: for an unknown name (suggesting the nearest), or a model for a harness that takes it at run time.
    """
    if name not in EXPORTS:
        raise ExportError(unknown("harness", name, EXPORTS))
    if model is None:
        return EXPORTS[name]
    asking = for_model(model)
    if name != asking.name:
        raise ExportError(f"--model {model!r} is for {asking.name}: with {name}, the model is named when it runs")
    return asking


__all__ = ["EXPORTS", "Export", "Written", "export", "export_of"]
