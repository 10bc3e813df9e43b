"""The group of all commands. Each is loaded only when it is called, which keeps start-up fast."""

from __future__ import annotations

import errno
import signal
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import click

from pipeline.cli import names
from pipeline.errors import CarraraError, unknown
from pipeline.terminal.printing import say
from pipeline.terminal.startup import INTERRUPTED, Terminated, handled, leave, terminate
from pipeline.version import __version__

MAX_ERROR_CHARACTERS = 2000
"""Most characters of an error that are shown."""
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Errors of a full disk or quota, or a file that is too large."""
REPORTED = 2
"""The exit code if a command did its work, but, for example, predictions or parts of a build are missing."""
LISTED = 3
"""Most splits that an error suggests."""
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 120}


class Entry(NamedTuple):
    """A command: the module that defines it, its line in the list of commands, and an example of its use."""

    module: str
    line: str
    example: str


SPLIT = "outputs/v3.0.0/o200k"
GROUPS = {
    "Build": {
        "recipes": Entry("show", "List the recipes that come with Carrara.", "recipes"),
        "plan": Entry(
            "build", "Show what a recipe builds, and what a run on it costs.", "plan 128k --tokenizer gemma3"
        ),
        "build": Entry("build", "Build a recipe and prove every row.", "build smoke --tokenizer o200k"),
        "verify": Entry("verify", "Recount and re-solve every row of a build or a copy.", "verify outputs/v3.0.0"),
    },
    "Use": {
        "show": Entry("show", "Print one prompt of a split for reading.", f"show {SPLIT}"),
        "gallery": Entry(
            "report", "Write a page with one example of every task in a split.", f"gallery {SPLIT} --out gallery.html"
        ),
        "check-server": Entry(
            "checking",
            "Check that a server passes rows to the model unchanged.",
            f"check-server {SPLIT} --base-url http://localhost:8000/v1 --model my-model",
        ),
        "run": Entry(
            "run",
            "Send a split to an OpenAI-compatible server.",
            f"run {SPLIT} --base-url http://localhost:8000/v1 --model my-model --out my-model.jsonl",
        ),
        "score": Entry("score", "Score a model's predictions against a split.", f"score {SPLIT} my-model.jsonl"),
        "report": Entry(
            "report", "Write a report on scores, or on a build.", f"report {SPLIT} my-model.jsonl --out page"
        ),
        "baselines": Entry(
            "baselines", "Show what guessing scores, or run simulated readers.", f"baselines {SPLIT} --out readings"
        ),
        "export": Entry("export", "Write a split in the format of another harness.", f"export lm-eval {SPLIT}"),
    },
    "Publish": {
        "freeze": Entry("freeze", "Freeze a release by writing its lock.", "freeze outputs/v3.0.0"),
        "publish": Entry(
            "publish",
            "Publish sealed splits on the Hugging Face Hub.",
            "publish outputs/v3.0.0 --repo 'org/name-{tokenizer}' --dry-run",
        ),
        "extend": Entry(
            "freeze",
            "Add profiles, tiers, strata or rows to a frozen release.",
            "extend outputs/v3.0.0 --tokenizer gemma3",
        ),
        "recut": Entry("freeze", "After a leak, write recipes for the next major version.", "recut 128k --seed random"),
    },
    "Train": {
        "train": Entry(
            "train",
            "Write training rows, kept apart from evaluation.",
            "train write rl --task bio.multihop --tokenizer qwen3 --length 8192 --rows 1000 --ids",
        ),
    },
    "Tokenizers and texts": {
        "profile": Entry("profile", "Add a model's tokenizer, or download a vocabulary.", "profile add org/model"),
        "corpus": Entry(
            "corpus", "Import your own texts, or write texts for mrcr.", "corpus import documents texts --out corpora"
        ),
    },
}
COMMANDS = {name: entry for entries in GROUPS.values() for name, entry in entries.items()}
EXAMPLES = {name: entry.example for name, entry in COMMANDS.items()} | {
    "profile fetch": "profile fetch qwen3.5 llama4",
    "profile add": "profile add org/model",
    "corpus import": "corpus import documents texts --out corpora",
    "corpus show": "corpus show corpora/documents.parquet",
    "corpus write": "corpus write letters.jsonl --format letter --texts 12",
    "train write": "train write rl --task bio.multihop --tokenizer qwen3 --length 8192 --rows 1000 --ids",
    "train verify": "train verify rl",
    "train prove": "train prove outputs/v3.0.0 --out apart.bin",
}
"""An example for each command and subcommand."""


class OneLine(click.Group):
    """A group that prints an error as one line on stderr and exits with 1; Ctrl-C exits with 130, SIGTERM by signal."""

    def main(self, args: Sequence[str] | None = None, **extra: Any) -> Any:  # type: ignore[override]
        """Run the command line."""
        debug = "--debug" in (sys.argv[1:] if args is None else args)
        try:
            with handled(signal.SIGTERM, terminate):
                return super().main(args, **{**extra, "standalone_mode": False})
        except (KeyboardInterrupt, click.Abort) as fault:
            if isinstance(fault.__cause__, EOFError):  # a file that ends early, which click turns into Abort too
                say(f"carrara: {_one_line(_message(fault.__cause__))}", err=True)
                sys.exit(1)
            say(INTERRUPTED, err=True)
            if isinstance(fault.__cause__ or fault, Terminated):  # click turns it into Abort
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                signal.raise_signal(signal.SIGTERM)
            sys.exit(130)
        except Exception as fault:
            if debug:
                sys.excepthook = lambda *it: say("".join(traceback.format_exception(*it)).rstrip(), err=True)
                raise
            say(f"carrara: {_one_line(_message(fault))}", err=True)
            sys.exit(1)


def _one_line(text: str) -> str:
    """Return a message in one line, without its middle if it is too long."""
    line = " ".join(text.split())
    if len(line) <= MAX_ERROR_CHARACTERS:
        return line
    return f"{line[: MAX_ERROR_CHARACTERS // 2]} [...] {line[-MAX_ERROR_CHARACTERS // 2 :]}"


def _message(fault: Exception) -> str:
    """Return the message of an error; for an unexpected one, with where to look further."""
    if isinstance(fault, click.MissingParameter) and fault.ctx:
        name = fault.ctx.command_path.partition(" ")[2]
        wanted = _given(fault.param) if fault.param else ""
        message = fault.format_message().rstrip(".").replace("'[NAME=]", "'").replace("'[", "'").replace("]'", "'")
        return f"{message}: {wanted}for example, `carrara {EXAMPLES[name]}`"
    if isinstance(fault, click.ClickException):
        return fault.format_message()
    if isinstance(fault, CarraraError) or _is_of_store(fault):
        return str(fault)
    if isinstance(fault, PermissionError) and fault.filename:
        return f"{str(fault.filename)!r} cannot be read or written ({fault.strerror})"
    if isinstance(fault, OSError) and fault.errno in NO_ROOM:
        what = f"{str(fault.filename)!r}" if fault.filename else "the output, or a file,"
        return f"{what} cannot be written ({fault.strerror}): free some space, and run it again"
    return (
        f"{type(fault).__name__}: {str(fault)[:400]}: unexpected; a file may be damaged, or Carrara has a bug; "
        "`carrara --debug ...` shows where"
    )


def _given(param: click.Parameter) -> str:
    """Return advice on what to give for a parameter, ending in "; ", or an empty string."""
    from pipeline.recipe import shipped_recipes

    if param.name == "recipe":
        return f"give {', '.join(shipped_recipes())}, or a .toml file; "
    if param.name == "where":
        found = sorted(str(path.parent) for path in Path("outputs").glob("*/*/manifest.json"))
        if found:
            return f"give a split, such as {', '.join(found[:LISTED])}; "
        return "give the folder of a split, which `carrara build` writes, or a published one, org/name@tag; "
    return {
        "predictions": "give the file that `carrara run` or a harness wrote; ",
        "base_url": "give the address of a server, or set CARRARA_BASE_URL; ",
        "model": "give the model's name on the server, or set CARRARA_MODEL; ",
    }.get(str(param.name), "")


def _is_of_store(fault: Exception) -> bool:
    """Tell whether an error comes from a store, without loading the module for stores."""
    loaded = sys.modules.get("pipeline.storage")
    return loaded is not None and isinstance(fault, loaded.StoreError)


def _example(name: str) -> str:
    return f"\b\nExample: carrara {EXAMPLES[name]}"


class LazyGroup(OneLine):
    """The group of `COMMANDS`, loaded on demand."""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Load a command; its module adds it to the group."""
        if name in COMMANDS:
            with handled(signal.SIGINT, leave):
                import_module(f"pipeline.cli.{COMMANDS[name].module}")
        command = super().get_command(context, name)
        if command and name in COMMANDS:
            command.epilog = _example(name)
        if isinstance(command, click.Group):
            for inner, each in command.commands.items():
                each.epilog = _example(f"{name} {inner}")
        return command

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        """Find a command by its present name or an earlier one.

        Raises:
            CarraraError: if there is no such command, suggesting the nearest name.
        """
        args = names.current_command(args)
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise CarraraError(unknown("command", args[0], COMMANDS))
        name, command, rest = super().resolve_command(context, args)
        taker, first = command, 0
        if isinstance(command, click.Group) and rest and rest[0] in command.commands:
            taker, first = command.commands[rest[0]], 1
        own = {option for each in taker.params for option in each.opts} if taker else ()
        return name, command, [*rest[:first], *names.current_options(rest[first:], own)]

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without loading any."""
        for title, entries in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, entry.line) for name, entry in entries.items()])


@click.group(cls=LazyGroup, context_settings=CONTEXT, invoke_without_command=True)
@click.version_option(__version__, prog_name="carrara")
@click.option("--debug", is_flag=True, help="Show the full traceback of an error.")
@click.pass_context
def cli(context: click.Context, *, debug: bool) -> None:
    """Build long-context evaluation sets, exact to the token, and prove every answer."""
    if context.invoked_subcommand is None:
        say(context.get_help())
