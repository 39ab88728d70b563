"""Further commands of the command line, one module each, found by looking: COMMANDS = [click commands]."""
