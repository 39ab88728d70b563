"""The command line."""


def main() -> None:
    """Run the command line; imported only when called, so that one command's module stays light."""
    from fedbounds.cli.app import main as run

    run()
