"""The command ``fedbounds``, also as ``python -m fedbounds.cli``."""

from fedbounds.cli import while_loading


def run() -> None:
    while_loading()
    from fedbounds.cli.app import main

    main()


if __name__ == "__main__":
    run()
