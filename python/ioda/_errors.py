"""What goes wrong: one class for each way in which the command line can end."""


class Error(Exception):
    """What ioda refuses or cannot do, in the sentence that the command line prints.

    Attributes:
        code: The exit code of the command line in the same case, 2 to 4.
    """

    code: int = 4


class UsageError(Error, ValueError):
    """Options or a configuration that cannot be used. Exit code 2 of the command line."""

    code = 2


class DataError(Error, ValueError):
    """Input that cannot be used, such as a damaged trace. Exit code 3 of the command line."""

    code = 3


class RunError(Error, RuntimeError):
    """A run that failed: a verified page was wrong, an output could not be written, or a bug. Exit code 4."""

    code = 4
