"""What the tests have in common."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SMALL = {"requests": 2_000, "blocks_per_plane": 64}
"""Options of a run that takes a moment."""

Command = Callable[..., subprocess.CompletedProcess[str]]


def program() -> str:
    """The command: that of IODA, or else the one that the wheel brings."""
    return os.environ.get("IODA") or str(Path(sys.executable).parent / "ioda")


@pytest.fixture(scope="session")
def command() -> Command:
    """Runs the command with arguments."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([program(), *arguments], capture_output=True, text=True, check=False, timeout=300)

    return run


def sentence(stderr: str) -> str:
    """What the command says is wrong, without how it is used."""
    text = stderr.split("\n\nUsage:")[0].split("\n\nFor more information")[0].strip()
    return text.removeprefix("error: ")


def words(workload: str | None, options: dict[str, object]) -> list[str]:
    """Options as somebody would type them; independent of how the package does it."""
    typed = [] if workload is None else [workload]
    for name, value in options.items():
        option = "--" + (name if name in ("rate_iops", "number_ios", "rate_process") else name.replace("_", "-"))
        if value is True:
            typed.append(option)
        elif isinstance(value, list):
            typed.append(f"{option}={','.join(map(str, value))}")
        elif value is not False and value is not None:
            typed.append(f"{option}={value}")
    return typed
