"""lm-evaluation-harness with a model that answers from a key: its own command line, with ``--model answerkey``."""

from __future__ import annotations

from lm_eval.__main__ import cli_evaluate
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model

from answering import answer


@register_model("answerkey")
class AnswerKey(LM):
    def __init__(self, **_):
        super().__init__()

    def generate_until(self, requests, disable_tqdm=False):
        return [answer([("user", request.args[0])], request.args[1]["max_gen_toks"]) for request in requests]

    def loglikelihood(self, requests, disable_tqdm=False):
        raise NotImplementedError

    def loglikelihood_rolling(self, requests, disable_tqdm=False):
        raise NotImplementedError


if __name__ == "__main__":
    cli_evaluate()
