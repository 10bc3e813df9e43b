"""lm-evaluation-harness with a model that answers from a key: its own command line, with ``--model answerkey``.

It also stands in for the models that need weights, with their arguments.
"""

from __future__ import annotations

import os
import sys
from functools import partialmethod

from lm_eval.__main__ import cli_evaluate
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model
from lm_eval.tasks import TaskManager

from answering import answer

ALONE = "CARRARA_ALONE"
"""If set, the tasks of lm-eval itself are not read, which takes longer than all else."""

KNOWN = {"pretrained", "max_length", "max_model_len", "batch_size", "max_batch_size", "device"}
"""What the models that need weights are told."""


@register_model("answerkey")
class AnswerKey(LM):
    def __init__(self, **given):
        assert given.keys() <= KNOWN, given
        super().__init__()

    def generate_until(self, requests, disable_tqdm=False):
        return [answer([("user", request.args[0])], request.args[1]["max_gen_toks"]) for request in requests]

    @property
    def tokenizer_name(self):
        return "key"

    def chat_template(self, chat_template=False):
        return ""

    def apply_chat_template(self, chat_history, add_generation_prompt=True):
        ((turn),) = chat_history
        return turn["content"]

    def loglikelihood(self, requests, disable_tqdm=False):
        raise NotImplementedError

    def loglikelihood_rolling(self, requests, disable_tqdm=False):
        raise NotImplementedError


if __name__ == "__main__":
    if os.environ.get(ALONE):
        TaskManager.__init__ = partialmethod(TaskManager.__init__, include_defaults=False)
    at = sys.argv.index("--model") + 1
    sys.argv[at] = "answerkey"
    cli_evaluate()
