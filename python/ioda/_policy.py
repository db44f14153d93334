"""Policies in Python."""

import copy
import enum
from collections.abc import Callable
from typing import Any, ClassVar, Literal

from ioda._errors import UsageError
from ioda._native import Array, View

__all__ = ["Array", "Attempt", "Flag", "Policy", "View", "described"]


class Flag(enum.IntEnum):
    """How a read is flagged (the PL flag of the article)."""

    OFF = 0
    """The drive serves the read, however long that takes."""
    PREDICTABLE = 1
    """The drive fails the read at once rather than let it wait for a collection."""
    PATIENT = 2
    """The drive fails the read at once if it would wait for longer than a read takes."""


class Attempt(enum.IntEnum):
    """What to do about a read before anything is known about it."""

    SEND = 0
    """Send it to its drive, which serves it, however long that takes."""
    SEND_PREDICTABLE = 1
    """Send it with :attr:`Flag.PREDICTABLE`."""
    SEND_PATIENT = 2
    """Send it with :attr:`Flag.PATIENT`."""
    AVOID = 3
    """Do not send it; reconstruct it from the other members of its stripe."""
    SEND_AND_RECONSTRUCT = 4
    """Send it and reconstruct it as well; take what comes first."""


class Policy:
    """What an array asks its policy. A class of yours defines the questions that it has an answer to.

    What a class does not define is never asked, and costs nothing. ``None`` is the usual answer to every question.
    Times are whole nanoseconds since the start of the run; sets of drives are numbers whose bits are drives. An
    exception ends the run and is raised to whoever began it. Runs stay deterministic as long as answers depend on
    nothing but what was asked and told: draw from a generator with a seed of your own, and look at no clock.

    Each run makes an object of its own: by calling the class without arguments, or by ``copy.deepcopy`` of the object
    that was given.

    Questions:

    - ``start(array)``: before the run; :class:`ioda.Array` says what it is run on.
    - ``first_attempt(now, drive, lba, view) -> Attempt``: what to do about a read of ``drive``.
    - ``reconstruct_flag() -> Flag``: how reads are flagged that only serve to reconstruct others.
    - ``wait_for(failures) -> int``: which of more failed reads than there are parities to wait for: an index into a
      list of ``(member, drive, busy_remaining_ns)`` in the order of failing.
    - ``sends_parity_reads() -> bool``: whether reads for parity are sent without a question.
    - ``spares_windows_in_writes() -> bool``: whether writes spare the drive in its busy window.
    - ``choose_copy(now, primary, copies, lba, view) -> int``: which of ``copies`` to read; only on mirrors.
    - ``spare_reads() -> int``: how many more members of a stripe to read than suffice.
    - ``hedge_after(now) -> int | None``: after how many nanoseconds without an answer to reconstruct as well.
    - ``may_hedge(now, late, reads, view) -> bool``: whether ``reads`` more reads may be sent for that.
    - ``hedge_ended(reads, won)``: how that went.
    - ``place_update(now, drive, free, view) -> int | None``: to which of the ``free`` drives to write a page instead
      of to ``drive``; needs ``stripe_width`` below ``drives``.
    - ``handle_report(now, drive, collecting, pages_before_next, collected_blocks, moved_pages)``: what a drive says of
      its collections.
    - ``sent(now, drive, opcode, lba, blocks)``: a command goes out.
    - ``answered(now, drive, opcode, lba, blocks, status, latency_ns)``: a drive has answered.
    - ``admits(now, host, kind, size_bytes) -> bool``: whether a request may begin; writes must.
    - ``releases(now) -> bool``: whether the first request that is held back begins.
    - ``next_deadline() -> int | None`` and ``handle_deadline(now)``: to be called at a time.
    """

    name: ClassVar[str]
    """The name in tables and results; that of the class, in lower case, unless it is set. No policy of ioda has it."""
    windows: ClassVar[Literal["none", "blind", "seen", "quiet", "imagined", "synchronized"]] = "none"
    """What it has to do with busy windows: ``none``; ``blind`` if drives collect in turn and reads carry no flag;
    ``seen`` if they do; ``quiet`` if drives do everything in turn that changes flash; ``imagined`` if the array acts
    as if, and drives are not told; ``synchronized`` if all collect at once."""
    needs: ClassVar[Literal["nothing", "redundancy", "mirrors"]] = "redundancy"
    """What it needs of the array."""
    untimed: ClassVar[Literal["nothing", "collections", "writes"]] = "nothing"
    """What drives do in no time, which none can: for yardsticks."""


QUESTIONS = frozenset(
    """start first_attempt reconstruct_flag wait_for sends_parity_reads spares_windows_in_writes choose_copy
    spare_reads hedge_after may_hedge hedge_ended place_update handle_report sent answered admits releases next_deadline
    handle_deadline""".split()
)
"""Every question that a class can answer."""


def described(policy: type[Policy] | Policy) -> dict[str, Any]:
    """A class, or an object of one, as the compiled half takes it."""
    kind = policy if isinstance(policy, type) else type(policy)
    factory: Callable[[], Any] = kind if isinstance(policy, type) else lambda: copy.deepcopy(policy)
    name = getattr(kind, "name", None) or kind.__name__.lower()
    for attribute, value in (("name", name), *((each, getattr(kind, each)) for each in ("windows", "needs", "untimed"))):
        if not isinstance(value, str):
            raise UsageError(f"{kind.__name__}.{attribute} is {value!r:.100}; it must be a text")
    if not name.isprintable() or len(name) > 64 or "," in name:
        raise UsageError(f"{kind.__name__}.name is {name!r:.100}; it must be a short text without commas")
    own = {attribute for base in kind.__mro__ if base not in Policy.__mro__ for attribute in vars(base)}
    return {
        "class": kind.__name__,
        "name": name,
        "label": kind.__name__ if not hasattr(kind, "label") else str(kind.label),
        "summary": (kind.__doc__ or "").strip().splitlines()[0] if (kind.__doc__ or "").strip() else "",
        "windows": kind.windows,
        "needs": kind.needs,
        "untimed": kind.untimed,
        "methods": sorted(QUESTIONS & own),
        "factory": factory,
    }
