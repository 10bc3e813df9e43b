"""A benchmark of NeMo-Skills: the rows with one limit for the reply."""

from pathlib import Path

from nemo_skills.pipeline.utils.packager import RepoMetadata, register_external_repo

register_external_repo(
    RepoMetadata(name="carrara_skills", path=Path(__file__).resolve().parents[2]), ignore_if_registered=True
)

METRICS_TYPE = "carrara_skills.scoring::RowMetrics"
ARGS = "++prompt_format=openai ++eval_type=carrara_skills.scoring::RowEvaluator ++inference.temperature=0.0"
