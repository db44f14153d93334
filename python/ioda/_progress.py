"""How far runs have come, with tqdm where it is installed."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Tell = Callable[[int, int | None], Any]


def _is_interactive() -> bool:
    return "ipykernel" in sys.modules or sys.stderr.isatty()


@contextmanager
def shown(progress: bool | Tell | None, unit: str) -> Iterator[Tell | None]:
    """A function that takes what is done and how much there is, or None where nothing is to be shown."""
    if callable(progress):
        yield progress
        return
    if progress is None:
        progress = _is_interactive()
        try:
            import tqdm.auto
        except ImportError:
            progress = False
    if not progress:
        yield None
        return
    import tqdm.auto

    with tqdm.auto.tqdm(unit=f" {unit}", leave=False, unit_scale=True) as bar:

        def tell(done: int, total: int | None) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield tell
