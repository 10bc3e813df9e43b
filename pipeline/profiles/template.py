"""Chat templates: what is sent around the contents of messages, and how many tokens of it.

A template is Jinja, run in a sandbox as transformers runs it; a test compares the two. Two things are pinned: the
generation prompt is always asked for, and there is no clock (a template that insists on today's date is an error, not a
row that changes daily).
"""

from __future__ import annotations

import collections
import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date
from functools import lru_cache
from itertools import pairwise
from typing import Any, NoReturn, cast

import jinja2
import jinja2.ext
import jinja2.meta
import jinja2.nodes
import jinja2.parser
from jinja2.exceptions import SecurityError

from pipeline.errors import AllowanceError, ProfileError
from pipeline.profiles.counters import Counter
from pipeline.profiles.sandbox import Allowance
from pipeline.profiles.spec import Template

Messages = Sequence[tuple[str, str]]
FRAMES = ("chat", "raw")
LONGEST, SHOWN = 1 << 18, 8
"""Characters of a template at most, and roles that an error names."""
# Contents that stand in for real ones where a template is measured. They begin and end in the ways real ones do:
# with a letter, a digit, a bracket, a full stop, a question mark.
TALKS: tuple[Messages, ...] = (
    (("user", "Is it 7?"),),
    (("user", "Is it 7?"), ("assistant", "No, 42."), ("user", ">> a.append(-3)")),
    (("user", "Q1: x."), ("assistant", "A1"), ("user", "Q2: (y)"), ("assistant", "{A2}"), ("user", "Q3?")),
    (("system", "Be brief."), ("user", "Is it 7?")),
)
"""Conversations in the roles that rows have, and with a system message; the first is one that all templates take."""
GIVEN = ("messages", "tools", "documents", "add_generation_prompt", "strftime_now", "raise_exception")
"""What a template is given that is no option of it."""
_PROBES = ("Carrara{0}block", "{0} Carrara blocks.", ">> a.append({0})", "Is it {0}?")


def render(template: Template, messages: Messages, frame: str) -> str:
    """Return what is sent, special tokens spelled out.

    Raises:
        ProfileError: for an unknown frame, a frame the template has no text for, or roles the template refuses.
        AllowanceError: if it does more than a template may.
    """
    if frame == "raw":
        return template.bos + _only_content(messages)
    if frame != "chat":
        raise ProfileError(f"unknown frame {frame!r}: give one of {', '.join(FRAMES)}")
    if template.kind != "exact":
        raise ProfileError(_no_text(template))
    try:
        compiled = _compiled(template.text)
        cast("Allowance", compiled.environment).allow(sum(len(content) for _, content in messages))
        return compiled.render(
            messages=[{"role": role, "content": content} for role, content in messages],
            add_generation_prompt=True,
            **given(template),
        )
    except ProfileError:
        raise
    except Exception as error:  # it is a program, and may fail as any
        roles = ", ".join(role for role, _ in messages[:SHOWN]) + (", ..." if len(messages) > SHOWN else "")
        said = str(error).partition("\n")[0][:200] or type(error).__name__
        kind = AllowanceError if isinstance(error, SecurityError) else ProfileError
        raise kind(f"the chat template refuses the roles {roles}: {said}") from None


def given(template: Template) -> dict[str, Any]:
    """Return what transformers gives a template beside the messages, and what the profile sets."""
    found: dict[str, Any] = {"tools": None, "documents": None, "bos_token": template.bos}
    if template.date:
        found["strftime_now"] = date.fromisoformat(template.date).strftime
    found |= json.loads(template.variables)
    return found


def _only_content(messages: Messages) -> str:
    if len(messages) != 1:
        raise ProfileError(f"frame raw sends one bare string, not {len(messages)} messages")
    return messages[0][1]


def _no_text(template: Template) -> str:
    if template.kind == "documented":
        return "this provider's chat template is not public: it can be counted, but not rendered"
    return "this profile has no chat template: use frame raw, or add [template] to it"


class Generation(jinja2.ext.Extension):
    """``{% generation %} ... {% endgeneration %}`` marks what training learns; what is sent is what stands inside.

    transformers marks replies so since 4.42 (`return_assistant_tokens_mask`), and TRL writes templates that do.
    """

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node:
        """Return the inside as a block of its own scope, as transformers does."""
        line = next(parser.stream).lineno
        inside = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_inside"), [], [], inside).set_lineno(line)

    def _inside(self, caller: Callable[[], str]) -> str:
        return caller()


@lru_cache(maxsize=16)
def _compiled(text: str) -> jinja2.Template:
    if len(text) > LONGEST:
        raise ProfileError(f"the chat template has {len(text):,} characters: give one of {LONGEST:,} at most")
    environment = Allowance(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", Generation], autoescape=False
    )
    environment.filters["tojson"] = environment.paid("tojson", _tojson)
    environment.globals["raise_exception"] = _refuse
    try:
        return environment.from_string(environment.parsed(text))
    except Exception as error:  # not Jinja, or nested deeper than Python goes
        said = str(error).partition("\n")[0][:200] or type(error).__name__
        raise ProfileError(f"the chat template is not Jinja: {said}") from None


def _refuse(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _tojson(value: Any, **options: Any) -> str:
    return json.dumps(value, **({"ensure_ascii": False} | options))


def sent_tokens(template: Template, messages: Messages, frame: str, counter: Counter) -> int:
    """Return the tokens of all that is sent: each special token is one, each stretch between them an encode."""
    if frame == "chat" and template.kind == "documented":
        return sum(documented_gaps(template, [role for role, _ in messages], counter)) + sum(
            counter.count(content) for _, content in messages
        )
    return text_tokens(template, render(template, messages, frame), counter)


def ids(template: Template, text: str, counter: Counter) -> list[int]:
    """Return the ids of a text in which special tokens are spelled out."""
    numbers, found, at = dict(template.special), [], 0
    for match in special_pattern(template).finditer(text) if numbers else ():
        found += [
            *counter.encode(text[at : match.start()]),
            numbers[match[0] if match[0] in numbers else match[0].rstrip()],
        ]
        at = match.end()
    return [*found, *counter.encode(text[at:])]


def options(text: str) -> list[str]:
    """Return the names that a template asks for beside the conversation, such as ``enable_thinking``."""
    environment = _compiled(text).environment
    tree = environment.parse(text)
    own = {name.name for name in tree.find_all(jinja2.nodes.Name) if name.ctx != "load"}  # set in a branch, say
    asked = [each.node for each in tree.find_all(jinja2.nodes.Test) if each.name in ("defined", "undefined")]
    own -= {node.name for node in asked if isinstance(node, jinja2.nodes.Name)}
    return sorted(jinja2.meta.find_undeclared_variables(tree) - own - {*environment.globals, *GIVEN})


def samples(template: Template) -> list[str]:
    """Return what is sent for some conversations, those that the template refuses left out."""
    found = []
    for talk in TALKS if template.kind == "exact" else ():
        with suppress(ProfileError):
            found.append(render(template, talk, "chat"))
    return found


def text_tokens(template: Template, text: str, counter: Counter) -> int:
    """Return the tokens of a text in which special tokens are spelled out."""
    if not template.special:
        return counter.count(text)
    parts = special_pattern(template).split(text)
    stretches = collections.Counter(parts)  # what stands between two turns comes with each of them
    return len(parts) - 1 + sum(times * counter.count(stretch) for stretch, times in stretches.items() if stretch)


@lru_cache(maxsize=16)
def special_pattern(template: Template) -> re.Pattern[str]:
    """Return what finds the special tokens of a template, with the whitespace that some of them swallow."""
    # Longest first: one special token may begin another.
    names = sorted((name for name, _ in template.special), key=len, reverse=True)
    return re.compile("|".join(re.escape(name) + (r"\s*" if name in template.swallow else "") for name in names))


def gaps(template: Template, roles: Sequence[str], frame: str, counter: Counter) -> tuple[int, ...]:
    """Return the template's tokens before each content, and after the last one (with the generation prompt).

    Raises:
        ProfileError: if the template's tokens depend on the contents, so that no sum can be exact.
    """
    if frame == "chat" and template.kind == "documented":
        return documented_gaps(template, roles, counter)
    found = {_measured_gaps(template, roles, frame, counter, probe) for probe in _PROBES}
    if len(found) > 1:
        totals = " or ".join(str(total) for total in sorted({sum(each) for each in found}))
        raise ProfileError(
            f"the chat template costs {totals} tokens, which depends on the contents: counts cannot be exact"
        )
    return found.pop()


def _measured_gaps(
    template: Template, roles: Sequence[str], frame: str, counter: Counter, probe: str
) -> tuple[int, ...]:
    contents = [probe.format(1000 + number) for number in range(len(roles))]
    messages = list(zip(roles, contents, strict=True))
    text = render(template, messages, frame)
    found = [text_tokens(template, gap, counter) for gap in _between(text, contents)]
    # What the contents add where they stand goes to the gap before them: a joint that merges shows up here.
    surplus = text_tokens(template, text, counter) - sum(found) - sum(map(counter.count, contents))
    found[0] += surplus
    return tuple(found)


def _between(text: str, contents: Sequence[str]) -> list[str]:
    """Return the texts before, between and after the contents."""
    edges = [0]
    for content in contents:
        start = text.find(content, edges[-1])
        if start < 0:
            raise ProfileError("the chat template does not send the contents as they are, once each and in order")
        edges += [start, start + len(content)]
    edges.append(len(text))
    return [text[start:end] for start, end in list(pairwise(edges))[::2]]


def documented_gaps(template: Template, roles: Sequence[str], counter: Counter) -> tuple[int, ...]:
    """Return the documented overhead, spread as start, role and separator before a content, and an end after it."""
    named = {role: counter.count(role) for role in set(roles)}
    before = [named[role] + template.per_message - 1 for role in roles]
    after = 1
    return (before[0], *(after + tokens for tokens in before[1:]), after + template.per_reply)
