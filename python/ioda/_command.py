"""The command ``ioda``, which the wheel brings along."""

import signal
import sys

from ioda import _native


def main() -> None:
    """Does what the command line says and ends the process with its exit code."""
    # Python would only note the signal, and look at it when the command is done.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_native.command(["ioda", *sys.argv[1:]]))
