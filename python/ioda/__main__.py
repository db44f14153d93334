"""``python -m ioda`` is the command."""

from ioda._command import main

main()
