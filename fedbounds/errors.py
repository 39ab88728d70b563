"""Errors a user can mend: one clear sentence each, shown by the command line with exit code 2."""


class InputError(ValueError):
    """Bad input: the message names what is wrong, the value received and the remedy."""


class DivergedError(ArithmeticError):
    """A run left the finite numbers: the message names the step and the likely cause."""


def reject(what: str, received: object, remedy: str) -> InputError:
    """Build the one sentence an input error shows: what, the value received, the remedy."""
    return InputError(f"{what}, but received {received}: {remedy}.")
