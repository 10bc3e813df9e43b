"""Write tests/golden/upstream/longproc.json: the scores of many replies with tables by LongProc's own scorer.

Run it in an environment with pandas and PyYAML, on a checkout of https://github.com/princeton-pli/LongProc:

    PYTHONPATH=tests/helpers python tools/score_with_longproc.py LONGPROC tests/golden/upstream/longproc.json
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from importlib import import_module
from pathlib import Path

from table_replies import REPLIES, table_and_reply


def main() -> None:
    """Score every reply, and write the file."""
    checkout, out = Path(sys.argv[1]), Path(sys.argv[2])
    sys.path.insert(0, str(checkout))
    evaluate = import_module("longproc.longproc_data").eval_html_to_tsv
    results = []
    for number in range(REPLIES):
        target, reply = table_and_reply(number)
        with contextlib.redirect_stdout(io.StringIO()):
            scores, _ = evaluate(reply, {"reference_output": target})
        results.append([round(float(scores[name]), 9) for name in ("f1", "precision", "recall")])
    out.write_text(json.dumps(results, separators=(",", ":")).replace("],", "],\n") + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
