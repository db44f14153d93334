"""Policies in Python."""

from typing import Any

import ioda
import pytest

from conftest import SMALL

RUN: dict[str, Any] = {**SMALL, "requests": 5_000}


class Flagged(ioda.Policy):
    """As iod2."""

    def first_attempt(self, now: int, drive: int, lba: int, view: ioda.View) -> ioda.Attempt:
        return ioda.Attempt.SEND_PREDICTABLE

    def reconstruct_flag(self) -> ioda.Flag:
        return ioda.Flag.PREDICTABLE

    def wait_for(self, failures: list[tuple[int, int, int]]) -> int:
        return min(range(len(failures)), key=lambda index: failures[index][2])


class Around(ioda.Policy):
    """As iod3, with parity reads that go around the turn too."""

    windows = "blind"

    def first_attempt(self, now: int, drive: int, lba: int, view: ioda.View) -> ioda.Attempt:
        return ioda.Attempt.AVOID if view.busy >> drive & 1 else ioda.Attempt.SEND


class Shortest(ioda.Policy):
    """As least-outstanding."""

    needs = "mirrors"

    def choose_copy(self, now: int, primary: int, copies: int, lba: int, view: ioda.View) -> int:
        loads = [read + write for read, write in zip(view.read_blocks, view.write_blocks, strict=True)]
        drives = [drive for drive in range(64) if copies >> drive & 1]
        return min(drives, key=lambda drive: (loads[drive], drive != primary))


class Nothing(ioda.Policy):
    """As base."""

    needs = "nothing"


TWINS: list[tuple[type[ioda.Policy], str, dict[str, Any]]] = [
    (Flagged, "iod2", {}),
    (Flagged, "iod2", {"raid": 6, "drives": 6}),
    (Around, "iod3", {"iod3_parity_reads": "around"}),
    (Shortest, "least-outstanding", {"raid": 10}),
    (Nothing, "base", {}),
]


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("mine", "theirs", "options"), TWINS, ids=lambda part: getattr(part, "__name__", str(part)))
def test_a_policy_has_the_results_of_its_twin(mine: Any, theirs: str, options: dict[str, Any], seed: int) -> None:
    # Compared one by one: in one comparison all get the same spare blocks.
    mine, theirs = (ioda.run(policy=policy, seed=seed, verify=True, **options, **RUN) for policy in (mine, theirs))
    assert mine.result_hash == theirs.result_hash


def test_policies_of_both_kinds_stand_side_by_side() -> None:
    comparison = ioda.compare(policies=["base", Flagged, "iod2"], **RUN)
    assert list(comparison) == ["base", "flagged", "iod2"]
    assert comparison["flagged"].result_hash == comparison["iod2"].result_hash
    assert comparison["flagged"].label == "Flagged"
    assert comparison["flagged"].fail_fasts > 0


def test_objects_are_copied_for_each_run() -> None:
    class Counting(ioda.Policy):
        """Counts."""

        def __init__(self) -> None:
            self.answers = 0

        def start(self, array: ioda.Array) -> None:
            assert self.answers == 0 and array.drives == 4 and array.parities == 1

        def answered(self, *told: Any) -> None:
            self.answers += 1

    mine = Counting()
    hashes = {ioda.run(policy=mine, **RUN).result_hash for _ in range(2)}
    assert hashes == {ioda.run(policy="base", **RUN).result_hash} and mine.answers == 0


def test_every_question_can_be_answered() -> None:
    asked: set[str] = set()

    def question(name: str) -> Any:
        def answer(self: Any, *arguments: Any) -> None:
            asked.add(name)

        return answer

    from ioda._policy import QUESTIONS

    every = type("Every", (ioda.Policy,), {name: question(name) for name in QUESTIONS})
    base = ioda.run(policy="base", **RUN)
    assert ioda.run(policy=every, **RUN).result_hash == base.result_hash
    assert {"start", "first_attempt", "sent", "answered", "hedge_after", "spare_reads", "admits"} <= asked
    ioda.run(policy=every, raid=10, **RUN)
    assert "choose_copy" in asked


def test_an_exception_ends_the_run_and_is_raised() -> None:
    class Wrong(ioda.Policy):
        """Wrong."""

        reads = 0

        def first_attempt(self, *asked: Any) -> Any:
            self.reads += 1
            return {}["missing"] if self.reads > 100 else None

    with pytest.raises(KeyError, match="missing") as raised:
        ioda.compare(policies=["base", Wrong], requests=50_000_000)
    assert raised.traceback[-1].name == "first_attempt"
    # The same class again: nothing is left of the failure.
    with pytest.raises(KeyError):
        ioda.run(policy=Wrong, **RUN)

    class Unmade(ioda.Policy):
        """Cannot be made."""

        def __init__(self) -> None:
            raise LookupError("no")

    with pytest.raises(LookupError):
        ioda.run(policy=Unmade, **RUN)


@pytest.mark.parametrize(
    ("question", "answer", "why"),
    [
        ("first_attempt", 9, "one of ioda.Attempt"),
        ("first_attempt", "send", "one of ioda.Attempt"),
        ("hedge_after", -1, "nanoseconds, 0 or more"),
        ("spare_reads", 1 << 80, "a number of reads"),
        ("next_deadline", 0, "nanoseconds after 0"),
        ("admits", False, "True for a write"),
        ("reconstruct_flag", 3, "one of ioda.Flag"),
    ],
)
def test_answers_that_cannot_be_are_refused(question: str, answer: Any, why: str) -> None:
    def first_attempt(self: Any, *asked: Any) -> ioda.Attempt:
        return ioda.Attempt.AVOID

    class Wrong(ioda.Policy):
        """Wrong."""

    Wrong.first_attempt = first_attempt  # type: ignore[attr-defined]
    setattr(Wrong, question, lambda self, *asked: answer)
    with pytest.raises((TypeError, ValueError), match=f"Wrong.{question} returned .*{why}"):
        ioda.run(policy=Wrong, **RUN)


def test_classes_that_cannot_be_policies_are_refused() -> None:
    for attributes, why in (
        ({"name": "ioda"}, "is a policy of ioda"),
        ({"name": 7}, "must be a text"),
        ({"name": "a,b"}, "without commas"),
        ({"windows": "some"}, "must be one of none, blind"),
        ({"needs": "luck"}, "must be one of nothing"),
    ):
        with pytest.raises(ioda.UsageError, match=why):
            ioda.run(policy=type("Mine", (ioda.Policy,), attributes))
    with pytest.raises(ioda.UsageError, match="two policies are called nothing"):
        ioda.compare(policies=[Nothing, Nothing])
    with pytest.raises(ioda.UsageError, match="raid0"):
        ioda.run(policy=Flagged, raid=0, **RUN)
