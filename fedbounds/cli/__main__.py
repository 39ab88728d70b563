"""``python -m fedbounds.cli``."""

from fedbounds.cli.app import main

main()
