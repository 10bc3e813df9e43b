"""Inspect with a model that answers from a key: its own command line, with ``--model answerkey/<name of its file>``.

Several command lines in one process, apart by ``--then``, cost one start.
"""

from __future__ import annotations

import sys
from itertools import groupby

from inspect_ai._cli.main import inspect
from inspect_ai.model import ModelAPI, ModelOutput, ModelUsage, modelapi

from answering import answer


@modelapi(name="answerkey")
class AnswerKey(ModelAPI):
    async def generate(self, input, tools, tool_choice, config):
        said = answer([(message.role, message.text) for message in input], config.max_tokens, self.model_name)
        output = ModelOutput.from_content(model=self.model_name, content=said)
        # Without usage Inspect counts tokens by a vocabulary that it would fetch.
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output


if __name__ == "__main__":
    for then, line in groupby(sys.argv[1:], "--then".__eq__):
        if not then:
            inspect(list(line), standalone_mode=False, auto_envvar_prefix="INSPECT")
