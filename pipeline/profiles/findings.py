"""What is found out about a profile before rows are cut for it, in words and figures for a person."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from pipeline.errors import ProfileError
from pipeline.profiles import template as templates
from pipeline.profiles.agreeing import differences
from pipeline.profiles.keeping import PROFILE
from pipeline.profiles.loading import profile_source, read_config
from pipeline.profiles.profile import Profile
from pipeline.profiles.trials import LINES, RULES, joints, plain_lines, speed, strange_lines
from pipeline.terminal.numbers import percent, plain

DAYS = 366
OPENED = re.compile(r"<[\w:]*think[\w:]*>\s*$|\[THINK\]\s*$|\u25c1think\u25b7\s*$")
"""How a generation prompt ends that opens the reasoning itself."""
SLOW = 2e6
"""Tokens a second below which counting takes most of the time of a build."""
LOADED = ("max_position_embeddings", "model_max_length", "seq_length", "max_seq_len")


def findings(profile: Profile, folder: Path) -> Iterator[str]:
    """Yield what is found out about a profile in a folder of its own, one sentence a line."""
    yield f"files: {profile_source(str(folder / PROFILE))}; {profile.notice}"
    yield from _engines(profile)
    yield from _template(profile)
    yield from _windows(folder)


def _engines(profile: Profile) -> Iterator[str]:
    counter, second = profile.counter(), profile.second()
    rate = speed(counter)
    yield f"counted by {counter.name}: {plain(rate / 1e6, 2)} Mtok/s here{_slowly(rate)}"
    if second is None:
        yield "counted again by nothing: no other engine reads this vocabulary"
        return
    found = list(differences(profile))
    same = f"the same ids on {LINES} lines of plain and {LINES} of foreign text" if not found else "; ".join(found)
    yield f"counted again by {second.name}: {plain(speed(second) / 1e6, 2)} Mtok/s here; {same}"


def _slowly(rate: float) -> str:
    return f", which is slow: a million tokens take a worker {1e6 / rate:.0f} s" if rate < SLOW else ""


def _template(profile: Profile) -> Iterator[str]:
    template = profile.template
    if template.kind != "exact":
        yield 'template: none: only recipes with frame = "raw" can be built'
        return
    one, three = (profile.overhead(roles, "chat") for roles in (("user",), ("user", "assistant", "user")))
    system = "with a system message, too" if _takes_system(profile) else "it takes no system message"
    yield f"template: {one} tokens around one message, {three} around three, as transformers sends them; {system}"
    given = templates.given(template)
    if named := [name for name in templates.options(template.text) if not name.endswith("_token")]:
        told = (f"{name} = {given[name]!r}" if name in given else f"{name} (not set)" for name in named)
        yield f"options of the template: {', '.join(told)}; set one with --set"
    if template.date:
        yield _dated(profile)
    if OPENED.search(templates.render(template, templates.TALKS[0], "chat")):
        reserve = f"{profile.reserve:,} tokens are kept for the reply" if profile.reserve else "give it a reserve"
        yield f"thinking: a reply begins inside the reasoning, which needs room: {reserve}, or build a -thinking recipe"


def _takes_system(profile: Profile) -> bool:
    with suppress(ProfileError):
        return bool(profile.render(templates.TALKS[-1], "chat"))
    return False


def _dated(profile: Profile) -> str:
    """Tell whether a template that sends today's date costs the same on every day of a year."""
    first, talk = date.fromisoformat(profile.template.date), templates.TALKS[0]
    days = (replace(profile.template, date=(first + timedelta(day)).isoformat()) for day in range(DAYS))
    found = {templates.sent_tokens(each, talk, "chat", profile.counter()) for each in days}
    more = max(found) - min(found)
    spread = "which costs the same on every day of a year"
    if more:
        spread = f"which may cost {more} token{'s' * (more > 1)} more or less on another day: serve the model with it"
    return f"date: the template sends today's, pinned to {profile.template.date}, {spread}"


def _windows(folder: Path) -> Iterator[str]:
    """Tell the window that the model's own files name."""
    for name in ("config.json", "tokenizer_config.json"):
        with suppress(ProfileError):
            config = read_config(folder / name)
            text = config.get("text_config")
            inner: dict[str, Any] = config | (text if isinstance(text, dict) else {})
            for key in LOADED:
                if isinstance(inner.get(key), int) and 0 < inner[key] < 1 << 30:
                    yield f"window: {inner[key]:,} tokens ({key} in {name}); put a smaller one into [windows]"
                    return


def joint_records(profile: Profile) -> list[dict[str, Any]]:
    """Return a line for each rule of cutting: how many cuts of each kind of text do not add up."""
    plain = joints(profile.counter(), plain_lines(LINES))
    strange = joints(profile.counter(), strange_lines(LINES))
    return [
        {
            "a cut": RULES[one.name].said,
            "Carrara cuts so": "yes" if RULES[one.name].used else "",
            "plain text": _fares(one.broken, one.tried),
            "foreign text": _fares(other.broken, other.tried),
        }
        for one, other in zip(plain, strange, strict=True)
    ]


def _fares(broken: int, tried: int) -> str:
    return f"{percent(broken / tried)} do not add up" if broken else f"adds up ({tried})"
