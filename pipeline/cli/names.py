"""Names of commands and options besides those that the help lists: earlier ones, and those that other tools have.

An earlier name works as before and prints one line that gives the new one. A name from another tool is simply taken.
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
"""Earlier commands, and what each is now."""
OPTIONS: Mapping[str, str] = {
    "--endpoint": "--base-url",
    "--workers": "--max-concurrency",
    "--tries": "--max-retries",
    "--option": "--extra-body",
    "--by": "--group-by",
    "--kept": "--threshold",
    "--readers": "--baselines",
}
"""Earlier options, and what each is now in the commands that have the new one and not the old one."""
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
"""Options as lm-eval, Inspect, vLLM and others call them, with dashes."""


def current_command(args: Sequence[str]) -> list[str]:
    """Return the words of a command line by the present name of its command."""
    now = COMMANDS.get(args[0])
    if now is None:
        return list(args)
    say(f"carrara: `{args[0]}` is now `{' '.join(now)}`", err=True)
    return [*now, *args[1:]]


def current_options(args: Sequence[str], own: Container[str]) -> list[str]:
    """Return the arguments of a command with the present names of its options; `own` are those that it has."""
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
        if plain == "--tries" and now != plain:  # one try more than retries
            if not equals and at < len(args):
                equals, value, at = "=", args[at], at + 1
            value = str(int(value) - 1) if value.isdecimal() else value
        found.append(f"{now if now in own else name}{equals}{value}")
    return found
