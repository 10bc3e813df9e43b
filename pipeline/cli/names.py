"""Names of commands and options that the help does not list: earlier ones, and those of other tools.

An earlier name works as before and prints one line with the new one. A name of another tool is accepted silently.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from pipeline.terminal.printing import say

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "sample": ("build", "--until", "sample"),
    "render": ("build", "--until", "render"),
    "pack": ("build", "--until", "pack"),
    "readers": ("baselines",),
    "chance": ("baselines",),
    "fetch": ("profile", "fetch"),
    "write": ("corpus", "write"),
}
"""Earlier commands, and their present forms."""
OPTIONS: Mapping[str, str] = {
    "--endpoint": "--base-url",
    "--workers": "--max-concurrency",
    "--tries": "--max-retries",
    "--option": "--extra-body",
    "--by": "--group-by",
    "--kept": "--threshold",
    "--readers": "--baselines",
}
"""Earlier options, and their present names in commands that have the new one but not the old one."""
OTHERS: Mapping[str, str] = {
    "--output": "--out",
    "--output-path": "--out",
    "--output-dir": "--out",
    "-o": "--out",
    "--api-base": "--base-url",
    "--num-concurrent": "--max-concurrency",
    "--max-connections": "--max-concurrency",
    "--concurrency": "--max-concurrency",
    "--max-model-len": "--max-length",
    "--license": "--licence",
}
"""Options of lm-eval, Inspect, vLLM and others, with dashes, and their names here."""


def current_command(args: Sequence[str]) -> list[str]:
    """Return the words of a command line with the present name of its command."""
    now = COMMANDS.get(args[0])
    if now is None:
        return list(args)
    say(f"carrara: `{args[0]}` is now `{' '.join(now)}`", err=True)
    return [*now, *args[1:]]


def current_options(args: Sequence[str], own: Container[str]) -> list[str]:
    """Return the arguments of a command with the present names of its options; `own` are the options that it has."""
    found, at = list[str](), 0
    while at < len(args):
        name, equals, value = args[at].partition("=")
        at += 1
        if name == "--":
            return [*found, *args[at - 1 :]]
        plain = name.replace("_", "-") if name.startswith("--") else name
        now = plain
        if plain not in own:
            now = next((each[plain] for each in (OPTIONS, OTHERS) if each.get(plain) in own), plain)
        if plain in OPTIONS and now != plain:
            say(f"carrara: {plain} is now {now}", err=True)
        if plain == "--tries" and now != plain:  # the first try is no retry
            if not equals and at < len(args):
                equals, value, at = "=", args[at], at + 1
            value = str(int(value) - 1) if value.isdecimal() else value
        found.append(f"{now if now in own else name}{equals}{value}")
    return found
