"""``python -m pipeline``, and the command `carrara`."""

import signal

from pipeline.terminal.signals import handled, leave


def main() -> None:
    """Run the command line; a Ctrl-C while its modules load is one line too."""
    with handled(signal.SIGINT, leave):
        from pipeline.cli import cli
    cli()


if __name__ == "__main__":
    main()
