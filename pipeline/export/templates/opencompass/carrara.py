"""A configuration for OpenCompass: replace `my-model` with the name of your model."""

from carrara_opencompass import Rows, RowScore, Server
from opencompass.openicl.icl_inferencer import GenInferencer
from opencompass.openicl.icl_raw_prompt_template import RawPromptTemplate
from opencompass.openicl.icl_retriever import ZeroRetriever

models = [{"type": Server, "abbr": "my-model", "path": "my-model", "temperature": 0, "batch_size": 8, "max_workers": 8}]
