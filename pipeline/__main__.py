"""``python -m pipeline``."""

from pipeline.cli import cli

if __name__ == "__main__":
    cli()
