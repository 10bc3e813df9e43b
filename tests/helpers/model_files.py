"""Models' files in the layout of the Hub, made locally."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import tokenizers
from transformers import PreTrainedTokenizerFast

from pipeline.profiles.profile import plain_lines

PATTERN = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SPECIAL = ("<s>", "</s>", "<|turn|>", "<|end|>", "<think>", "</think>")
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|turn|>{{ message.role }}\n{{ message.content }}<|end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|turn|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% else %}<think>\n{% endif %}"
    "{% endif %}"
)
DATED = "Today is {{ strftime_now('%d %B %Y') }}.\n" + TEMPLATE
CARD = b"---\nlicense: apache-2.0\n---\n# A small model\n"
CODE = {"auto_map": {"AutoTokenizer": ["tokenization_own.OwnTokenizer", None]}, "tokenizer_class": "OwnTokenizer"}
OWN_CODE = b"raise SystemExit('the code of a model was run')\n"


def trained(size: int = 600) -> tokenizers.Tokenizer:
    """Return a small byte-level BPE vocabulary, as today's models have."""
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(PATTERN), "isolated")
    level = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([split, level])
    made.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(SPECIAL),
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(plain_lines(400), trainer)
    return made


@cache
def small(template: str = TEMPLATE, size: int = 600) -> dict[str, bytes]:
    """Return the files of a small model, by name."""
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>"}
    return {
        "tokenizer.json": trained(size).to_str().encode(),
        "tokenizer_config.json": json.dumps(config).encode(),
        "chat_template.jinja": template.encode(),
        "config.json": b'{"model_type": "qwen3", "max_position_embeddings": 40960}',
        "README.md": CARD,
        "model.safetensors": b"\0" * 64,
    }


def with_code() -> dict[str, bytes]:
    """Return the files of a model whose tokenizer needs the model's own code."""
    return small() | {"tokenizer_config.json": json.dumps(CODE).encode(), "tokenization_own.py": OWN_CODE}


def folder_of(files: dict[str, bytes], folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def saved(tokenizer: PreTrainedTokenizerFast, template: str, folder: Path) -> Path:
    """Write a tokenizer as transformers does."""
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    return folder
