"""The command ``fedbounds``, also as ``python -m fedbounds.cli``: an interrupt while it loads is no traceback."""

import sys

INTERRUPTED = 130


def run() -> None:
    try:
        from fedbounds.cli.app import main

        main()
    except KeyboardInterrupt:
        print("Interrupted: nothing was written.", file=sys.stderr)
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    run()
