"""``python -m pipeline``, and the command `carrara`."""

import signal

from pipeline.terminal.startup import handled, leave, tune_startup


def main() -> None:
    """Run the command line; Ctrl-C prints one line even while modules load."""
    with handled(signal.SIGINT, leave):
        tune_startup()
        from pipeline.cli import cli
    cli()


if __name__ == "__main__":
    main()
