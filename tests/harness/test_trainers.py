"""Rows in the trainers that they are for, by `make test-trainers`: each runs in an environment of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from model_files import folder_of, small
from pipeline.profiles.adopt import adopt, source_of_model

pytestmark = pytest.mark.model
PLAIN = (
    "{{ bos_token }}{% for message in messages %}<|turn|>{{ message.role }}\n{{ message.content }}<|end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a tokenizer, and its profile."""
    folder = folder_of(small(PLAIN, 4000), tmp_path_factory.mktemp("trainers") / "model")
    adopt(source_of_model(str(folder)), folder / "profile")
    (folder / "model.safetensors").unlink()
    return folder


@pytest.mark.parametrize("name", ["datasets", "reasoning_gym", "trl", "verifiers", "verl"])
def test_rows_in_a_trainer(harness: Callable[..., str], model: Path, name: str) -> None:
    said = harness("trainers", "trainers_script.py", name, model)
    assert name != "trl" or "mean reward" in said
