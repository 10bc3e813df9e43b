"""Chat templates: what is sent around the contents of messages, and how many tokens of it.

A template is Jinja, run in a sandbox as transformers runs it; a test compares the two. Two things are pinned: the
generation prompt is requested for every row, and there is no clock (a template that insists on today's date is an
error, not a row that changes daily).
"""

from __future__ import annotations

import collections
import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date
from functools import lru_cache, wraps
from itertools import pairwise
from typing import Any, NoReturn, cast

import jinja2
import jinja2.ext
import jinja2.meta
import jinja2.nodes
import jinja2.parser
import jinja2.sandbox
from jinja2.exceptions import SecurityError

from pipeline.errors import AllowanceError, ProfileError
from pipeline.profiles.counters import Counter
from pipeline.profiles.spec import Template
from pipeline.turns import has_calls, messages_of, sent

ALLOWANCE, OF_CONTENT = 1 << 26, 64
"""Cost of a rendering in characters, at most: a fixed part, and a factor for the characters of the contents."""
TURN = 256
"""Cost of an iteration, a call or a filter, besides what it reads and makes."""
LARGEST, WIDEST = 1 << 64, 1 << 20
"""The largest numbers in arithmetic, and as a width or count given to a filter or a method."""
LEFT_OUT = ("batch", "center", "filesizeformat", "pprint", "random", "slice", "urlize", "wordwrap", "xmlattr")
REFUSED = frozenset({"expandtabs", "format_map", "translate", "maketrans"})
WIDE = re.compile(r"\d{4}|\*|\{[^}]*\{")
"""In a format string: a width of four digits, or one that is an argument itself."""


class Allowance(jinja2.sandbox.ImmutableSandboxedEnvironment):
    """A sandbox that limits the work of a template; call `allow` before each rendering."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, **how: Any) -> None:
        self.left = ALLOWANCE  # compiling a template folds its constants
        super().__init__(**how, finalize=self._written)
        for name in LEFT_OUT:
            del self.filters[name]
        for name in ("lipsum", "cycler", "joiner"):
            del self.globals[name]
        self.filters = {name: self.paid(name, made) for name, made in self.filters.items()}
        self.filters["turn"] = jinja2.pass_context(lambda context, cost: self.pay(cost))  # no constant, so never folded

    def allow(self, content: int) -> None:
        """Set the allowance for a rendering of `content` characters."""
        self.left = ALLOWANCE + OF_CONTENT * content

    def pay(self, cost: int) -> str:
        """Take `cost` characters from the allowance.

        Raises:
            SecurityError: if it is used up.
        """
        self.left -= abs(cost)
        if self.left < 0:
            raise SecurityError("it does more than a template may: too many steps, or too much text")
        return ""

    def parsed(self, text: str) -> jinja2.nodes.Template:
        """Return a template in which each iteration of a loop, and each concatenation, is paid for."""
        tree = self.parse(text)
        for loop in list(tree.find_all(jinja2.nodes.For)):
            constants = sum(len(data.data) for data in loop.find_all(jinja2.nodes.TemplateData))
            turn = jinja2.nodes.Filter(jinja2.nodes.Const(TURN + constants), "turn", [], [], None, None)
            loop.body.insert(0, jinja2.nodes.ExprStmt(turn))
        for joined in list(tree.find_all(jinja2.nodes.Concat)):
            joined.nodes = [jinja2.nodes.Filter(each, "string", [], [], None, None) for each in joined.nodes]
        tree.set_environment(self)
        return tree

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Evaluate an operator, unless its result could be too large."""
        if operator == "+" and isinstance(left, str) and isinstance(right, str):  # by far the most frequent
            self.left -= TURN + len(left) + len(right)
            if self.left < 0:
                self.pay(0)
            return left + right
        numbers = [each for each in (left, right) if isinstance(each, int)]
        if operator == "*" and len(numbers) == 1:
            other = right if left is numbers[0] else left
            self.pay(TURN + _size(other) * max(0, numbers[0]))
        elif any(abs(each) > LARGEST for each in numbers) or (operator == "**" and not _is_small(left, right)):
            raise SecurityError("it reckons with numbers that are too large")
        elif operator == "%" and isinstance(left, str | bytes):
            self._check_format(left)
        self.pay(TURN + _size(left) + _size(right))
        return super().call_binop(context, operator, left, right)

    def call(self, context: Any, called: Any, *args: Any, **more: Any) -> Any:
        """Call what a template calls, and pay for it."""
        owner, name = getattr(called, "__self__", None), getattr(called, "__name__", "")
        if isinstance(owner, str | bytes):
            args = self._prepaid(name, owner, args, more)
        self.pay(TURN + sum(map(_size, args)) if args else TURN)
        made = super().call(context, called, *args, **more)
        self.pay(_size(made))
        return made

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Check a text before its `format` is called."""
        wrapped = super().wrap_str_format(value)
        if wrapped is not None:
            self._check_format(value.__self__)
        return wrapped

    def _prepaid(self, name: str, owner: Any, args: tuple[Any, ...], more: dict[str, Any]) -> tuple[Any, ...]:
        """Pay for a string method or a filter before it is called, and return its arguments."""
        given = (*args, *more.values())
        if name in REFUSED or (given and any(isinstance(each, int) and each > WIDEST for each in given)):
            raise SecurityError(f"it calls {name} in a way that may have no end")
        if name == "format":  # the filter; the method is wrapped below
            self._check_format(str(owner))
        elif name == "replace" and len(args) >= 2:
            owner, old, new = map(str, (owner, *args[:2]))
            self.pay(owner.count(old) * len(new))
        elif name == "join" and args:
            args = (list(args[0]), *args[1:])
            self.pay(sum(_size(owner) + _size(each) for each in args[0]))
        elif name == "indent":
            width = args[0] if args else more.get("width", 4)
            self.pay(str(owner).count("\n") * (width if isinstance(width, int) else _size(width)))
        self.pay(_size(owner))
        return args

    def _check_format(self, text: str | bytes) -> None:
        if WIDE.search(text if isinstance(text, str) else text.decode(errors="replace")):
            raise SecurityError("it formats with a width that is too large")

    def paid(self, name: str, made: Callable[..., Any]) -> Callable[..., Any]:
        """Return a filter that pays for what it does."""
        skipped = 1 if hasattr(made, "jinja_pass_arg") else 0

        @wraps(made)
        def run(*args: Any, **more: Any) -> Any:
            value, rest = args[skipped], args[skipped + 1 :]
            if name == "join":
                value = list(value)
                mark = rest[0] if rest else more.get("d", "")
                self.pay(sum(_size(mark) + _size(each) for each in value))
            else:
                rest = self._prepaid(name, value, rest, more)
            self.pay(TURN + _size(value))
            found = made(*args[:skipped], value, *rest, **more)
            self.pay(_size(found))
            return found

        return run

    def _written(self, value: Any) -> Any:
        self.left -= TURN + (len(value) if isinstance(value, str) else 8)
        if self.left < 0:
            self.pay(0)
        return value


def _size(value: Any) -> int:
    """Return the approximate length of a value when written, from what is quick to find out."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, list | tuple | dict | set | range):
        return 8 * len(value)
    return 8


def _is_small(base: Any, exponent: Any) -> bool:
    return (
        isinstance(base, int | float) and isinstance(exponent, int | float) and abs(base) <= WIDEST and exponent <= 16
    )


Messages = Sequence[tuple[str, str]]
FRAMES = ("chat", "raw")
LONGEST, SHOWN = 1 << 18, 8
"""Most characters of a template, and most roles that an error names."""
# Contents that stand in for real ones when a template is measured. Like real ones, they begin and end with a letter,
# a digit, a bracket, a period or a question mark.
TALKS: tuple[Messages, ...] = (
    (("user", "Is it 7?"),),
    (("user", "Is it 7?"), ("assistant", "No, 42."), ("user", ">> a.append(-3)")),
    (("user", "Q1: x."), ("assistant", "A1"), ("user", "Q2: (y)"), ("assistant", "{A2}"), ("user", "Q3?")),
    (("system", "Be brief."), ("user", "Is it 7?")),
)
"""Conversations with the roles of rows, and one with a system message; all templates take the first."""
GIVEN = ("messages", "tools", "documents", "add_generation_prompt", "strftime_now", "raise_exception")
"""Variables passed to a template that are not its options."""
_PROBES = ("Carrara{0}block", "{0} Carrara blocks.", ">> a.append({0})", "Is it {0}?")


def render(template: Template, messages: Messages, frame: str, *, replies: bool = True, tools: str = "") -> str:
    """Return what is sent, special tokens spelled out, with the generation prompt unless `replies` is false.

    `tools` are the declared tools as JSON, if any are.

    Raises:
        ProfileError: for an unknown frame, one for which the template has no text, roles that it refuses, or declared
            tools that it cannot send.
        AllowanceError: if the template exceeds its allowance.
    """
    if frame == "raw":
        return template.bos + _only_content(messages)
    if frame != "chat":
        raise ProfileError(f"unknown frame {frame!r}: give one of {', '.join(FRAMES)}")
    if template.kind != "exact":
        raise ProfileError(_no_text(template))
    if has_calls(messages):
        template = template.with_tools()
    try:
        compiled = _compiled(template.text)
        cast("Allowance", compiled.environment).allow(sum(len(content) for _, content in messages))
        text = compiled.render(
            messages=sent_messages(template, messages),
            add_generation_prompt=replies,
            **given(template),
        )
        return _with_declared(template, text, tools) if tools else text
    except ProfileError:
        raise
    except Exception as error:  # a template is a program and may raise anything
        roles = ", ".join(role for role, _ in messages[:SHOWN]) + (", ..." if len(messages) > SHOWN else "")
        reason = str(error).partition("\n")[0][:200] or type(error).__name__
        kind = AllowanceError if isinstance(error, SecurityError) else ProfileError
        raise kind(f"the chat template rejects the roles {roles}: {reason}") from None


def _with_declared(template: Template, text: str, tools: str) -> str:
    """Return what is sent for a conversation with tool calls as it is with declared tools."""
    if not (template.tools and template.tools.declared):
        raise ProfileError("this profile cannot declare tools: its table [template.tools] has no key declared")
    if template.tools.declared_after not in text:
        raise ProfileError(f"it sends no {template.tools.declared_after!r}, after which tools are declared")
    start = text.index(template.tools.declared_after) + len(template.tools.declared_after)
    compiled = _compiled(template.tools.declared)
    cast("Allowance", compiled.environment).allow(len(tools))
    return text[:start] + compiled.render(**given(template) | {"tools": json.loads(tools)}) + text[start:]


def sent_messages(template: Template, messages: Messages) -> list[dict[str, Any]]:
    """Return messages as a server passes them to the template, with arguments of calls in the form that it takes."""
    found = sent(messages_of(messages))
    if template.tools and template.tools.arguments == "object":
        for call in (call for message in found for call in message.get("tool_calls", ())):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return found


def given(template: Template) -> dict[str, Any]:
    """Return the variables besides messages that transformers passes to a template, and those that the profile sets."""
    found: dict[str, Any] = {"tools": None, "documents": None, "bos_token": template.bos}
    if template.date:
        found["strftime_now"] = date.fromisoformat(template.date).strftime
    found |= json.loads(template.variables)
    return found


def _only_content(messages: Messages) -> str:
    if len(messages) != 1:
        raise ProfileError(
            f"frame raw sends one bare string, not {len(messages)} messages: leave out tasks with real turns, such as "
            "mrcr.chat and longqa.turns"
        )
    return messages[0][1]


def _no_text(template: Template) -> str:
    if template.kind == "documented":
        return "this provider's chat template is not public: it can be counted, but not rendered"
    return 'this profile has no chat template: set frame = "raw" in the recipe, or add [template] to the profile'


class Generation(jinja2.ext.Extension):
    """``{% generation %} ... {% endgeneration %}``, which marks what training learns; only the inside is sent.

    transformers has marked replies so since 4.42 (`return_assistant_tokens_mask`), and TRL's templates do.
    """

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node:
        """Return the inside as a block with its own scope, as transformers does."""
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
    except Exception as error:  # not Jinja, or nested deeper than Python allows
        reason = str(error).partition("\n")[0][:200] or type(error).__name__
        raise ProfileError(f"the chat template is not Jinja: {reason}") from None


def _refuse(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _tojson(value: Any, **options: Any) -> str:
    return json.dumps(value, **({"ensure_ascii": False} | options))


def sent_tokens(template: Template, messages: Messages, frame: str, counter: Counter, tools: str = "") -> int:
    """Return the number of tokens sent: one for each special token, and an encode of each stretch between them."""
    if frame == "chat" and template.kind == "documented":
        return sum(documented_gaps(template, [role for role, _ in messages], counter)) + sum(
            counter.count(content) for _, content in messages
        )
    text = render(template, messages, frame, tools=tools)
    return text_tokens(template.with_tools() if has_calls(messages) else template, text, counter)


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
    """Return the names of a template's options, such as ``enable_thinking``."""
    environment = _compiled(text).environment
    tree = environment.parse(text)
    own = {name.name for name in tree.find_all(jinja2.nodes.Name) if name.ctx != "load"}  # perhaps only in one branch
    asked = [each.node for each in tree.find_all(jinja2.nodes.Test) if each.name in ("defined", "undefined")]
    own -= {node.name for node in asked if isinstance(node, jinja2.nodes.Name)}
    return sorted(jinja2.meta.find_undeclared_variables(tree) - own - {*environment.globals, *GIVEN})


def samples(template: Template) -> list[str]:
    """Return what is sent for the conversations `TALKS`, except those that the template refuses."""
    found = []
    for talk in TALKS if template.kind == "exact" else ():
        with suppress(ProfileError):
            found.append(render(template, talk, "chat"))
    return found


def text_tokens(template: Template, text: str, counter: Counter) -> int:
    """Return the number of tokens of a text in which special tokens are spelled out."""
    if not template.special:
        return counter.count(text)
    parts = special_pattern(template).split(text)
    stretches = collections.Counter(parts)  # the text between two turns recurs
    return len(parts) - 1 + sum(times * counter.count(stretch) for stretch, times in stretches.items() if stretch)


@lru_cache(maxsize=16)
def special_pattern(template: Template) -> re.Pattern[str]:
    """Return a pattern of the special tokens of a template, with the whitespace that some of them swallow."""
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
    # Tokens that the contents add in place go to the first gap: a joint that merges shows up here.
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
    """Return the documented overhead as gaps: start, role and separator before each content, and an end after it."""
    named = {role: counter.count(role) for role in set(roles)}
    before = [named[role] + template.per_message - 1 for role in roles]
    after = 1
    return (before[0], *(after + tokens for tokens in before[1:]), after + template.per_reply)
