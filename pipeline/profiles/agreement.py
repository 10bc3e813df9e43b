"""Compares engines with transformers' counts, and templates with what its `apply_chat_template` sends."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pipeline.errors import AllowanceError, ProfileError, first_line
from pipeline.profiles import template as templates
from pipeline.profiles.counters import Counter, open_counter
from pipeline.profiles.profile import (
    LINES,
    RULES,
    Profile,
    first_difference,
    joined,
    joints,
    plain_lines,
    strange_lines,
)
from pipeline.profiles.spec import Engine, Vocabulary

SLOW_COST = "0.3 to 1 Mtok/s"
"""The measured speed of transformers and the package tokenizers."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """The engines of a profile: one that counts, and one that counts again.

    Attributes:
        fast: the quickest engine with transformers' ids.
        second: the engine that counts again; empty if there is none.
        converted: whether the tokenizer.json was written anew, as transformers reads the model.
        cost: the speed of the second engine, for people.
    """

    fast: str
    second: str
    converted: bool
    cost: str = SLOW_COST


def agreed_engines(tokenizer: Any, path: Path, title: str) -> Agreed:
    """Return the engines that count as transformers does; write a tokenizer.json if the model's is missing or differs.

    Raises:
        ProfileError: if no tokenizer.json counts as transformers does.
    """
    lines = [*plain_lines(LINES), *strange_lines(LINES)]
    texts = [joined(lines), *lines]
    truth = [_encoded(tokenizer, text) for text in texts]

    def agrees(engine: str) -> bool:
        counter = _opened(path, engine)
        return counter is not None and all(counter.encode(text) == ids for text, ids in zip(texts, truth, strict=True))

    fits = path.is_file() and agrees("tokenizers")
    if not fits:
        path.write_text(tokenizer.backend_tokenizer.to_str(), encoding="utf-8")
        if not agrees("tokenizers"):
            raise ProfileError(
                f"{title}: what transformers does to a text cannot be written as a tokenizer.json: give another model"
            )
    fast = next((name for name in ("splintr", "tokenizers") if agrees(name)), "transformers")
    return Agreed(fast, "transformers", converted=not fits)


def _encoded(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True, verbose=False))


def _opened(path: Path, engine: str) -> Counter | None:
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    try:
        return open_counter(Vocabulary(form="json", file=str(path), sha256=sha256), Engine(engine=engine))
    except ProfileError:
        return None


def check_sent(profile: Profile, tokenizer: Any) -> None:
    """Compare what is sent with `apply_chat_template`, for one turn and several, with and without a system message.

    Raises:
        ProfileError: if the text or its tokens differ, or the template's cost depends on the contents.
    """
    for talk in templates.TALKS:
        mine = _rendered(profile, talk)  # first, since transformers lets a template run forever
        wanted = _sent(profile, tokenizer, talk)
        if wanted is None:
            continue
        text, ids = wanted
        roles = ", ".join(role for role, _ in talk)
        if mine is None:
            raise ProfileError(f"{profile.title}: transformers renders the roles {roles}, which Carrara rejects")
        if mine != text:
            raise ProfileError(
                f"{profile.title}: transformers renders the roles {roles} as {len(text):,} characters, Carrara as "
                f"{len(mine):,}: rows cannot be exact"
            )
        counted = templates.ids(profile.template, mine, profile.counter())
        if counted != ids:
            raise ProfileError(
                f"{profile.title}: transformers sends {len(ids):,} tokens for the roles {roles}, Carrara counts "
                f"{len(counted):,} or other ones: rows cannot be exact"
            )
        if talk[0][0] == "user":
            profile.gaps([role for role, _ in talk], "chat")
    check_joints(profile)


def _rendered(profile: Profile, talk: Sequence[tuple[str, str]]) -> str | None:
    """Return what Carrara would send; None if the template refuses these roles."""
    try:
        return profile.render(talk, "chat")
    except AllowanceError as error:
        raise ProfileError(f"{profile.title}: its chat template fails: {error}") from None
    except ProfileError:
        return None


def _sent(profile: Profile, tokenizer: Any, talk: Sequence[tuple[str, str]]) -> tuple[str, list[int]] | None:
    """Return what transformers sends, and its ids; None if the template refuses these roles."""
    messages = [{"role": role, "content": content} for role, content in talk]
    given = {name: value for name, value in templates.given(profile.template).items() if name != "strftime_now"}
    how = {"add_generation_prompt": True, **given}
    try:
        with _today(profile.template.date):
            text = tokenizer.apply_chat_template(messages, tokenize=False, **how)
            ids = tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False, **how)
    except Exception as error:  # a template is a program and may raise anything
        if len(talk) == 1:
            raise ProfileError(f"{profile.title}: its chat template fails: {first_line(error)}") from None
        return None
    return text, list(ids)


@contextmanager
def _today(day: str) -> Iterator[None]:
    """Set today's date for transformers' templates by replacing its clock, which cannot be passed in."""
    module: Any = import_module("transformers.utils.chat_template_utils")
    clock = module.datetime
    if day:
        module.datetime = SimpleNamespace(now=lambda: datetime.fromisoformat(day))
    try:
        yield
    finally:
        module.datetime = clock


def check_joints(profile: Profile) -> None:
    """Check that counts of lines add up.

    Raises:
        ProfileError: naming the first two lines whose counts do not.
    """
    for joint in joints(profile.counter(), plain_lines(LINES)):
        if joint.name == "newline" and joint.broken:
            rule = RULES[joint.name]
            raise ProfileError(
                f"{profile.title}: its tokens do not add up {rule.words} ({joint.broken} of {joint.tried}, "
                f"as in {json.dumps(joint.example)}): rows cannot be exact"
            )


def differences(profile: Profile) -> Iterator[str]:
    """Yield, for each kind of text, the first line to which the two counters of a profile give different ids."""
    second = profile.second()
    for kind, lines in (("plain", plain_lines(LINES)), ("foreign", strange_lines(LINES))):
        if second and (line := first_difference(profile.counter(), second, lines)) is not None:
            yield f"{kind} text: {json.dumps(line)}"
