"""What is refused, and how."""

import pathlib
from typing import Any

import ioda
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import Command, sentence, words

WRONG: list[tuple[str | None, dict[str, object]]] = [
    ("tpc", {}),
    ("./no-such-trace.csv", {}),
    (None, {"drives": "many"}),
    (None, {"drives": -1}),
    (None, {"drives": 10**30}),
    (None, {"drives": 1.5}),
    (None, {"drivs": 4}),
    (None, {"tw": "100"}),
    (None, {"tw": "-5ms"}),
    (None, {"write_buffer": "32q"}),
    (None, {"write_buffer": float("nan")}),
    (None, {"over_provisioning": float("inf")}),
    (None, {"over_provisioning": "0.25"}),
    (None, {"policy": "iodda"}),
    (None, {"policy": ["base", "ioda"]}),
    (None, {"seed": -1}),
    (None, {"raid": 7}),
    (None, {"threads": 0}),
    (None, {"requests": 0}),
    (None, {"config": "/no/such/file.toml"}),
    (None, {"fail": "9@1s"}),
    ("tpcc", {"format": "csv"}),
    (None, {"verify": "yes"}),
]


@pytest.mark.parametrize(("workload", "options"), WRONG, ids=lambda part: repr(part))
def test_errors_are_the_sentences_of_the_command(
    command: Command, workload: str | None, options: dict[str, object]
) -> None:
    shown = {name: "NaN" if value != value else value for name, value in options.items()}
    done = command("run", *words(workload, shown))
    assert done.returncode in (2, 3), done.stderr
    with pytest.raises(ioda.Error) as raised:
        ioda.run(workload, **options)
    assert str(raised.value) == sentence(done.stderr)
    assert raised.value.code == done.returncode
    assert isinstance(raised.value, ioda.DataError if done.returncode == 3 else ioda.UsageError)
    assert isinstance(raised.value, ValueError)


def test_what_is_no_value_of_an_option_is_a_type_error() -> None:
    for value in ({}, object(), {1, 2}, [[1]], 1j, b"32m", lambda: 0):
        with pytest.raises(TypeError):
            ioda.run(drives=value)
    for policy in (1, object, dict, [None]):
        with pytest.raises(TypeError):
            ioda.run(policy=policy)
    with pytest.raises(TypeError):
        ioda.run("tpcc", "azure")  # type: ignore[misc]


def test_options_of_processes_are_refused(tmp_path: pathlib.Path) -> None:
    for options in ({"help": True}, {"policy": "base", "policies": ["ioda"]}):
        with pytest.raises(ioda.UsageError):
            ioda.run(**options)
    path = tmp_path / "page.html"
    ioda.run(requests=500, blocks_per_plane=64, html=path)
    assert path.read_text().startswith("<!doctype html>")
    with pytest.raises(ioda.RunError, match="cannot write"):
        ioda.run(requests=500, blocks_per_plane=64, html=tmp_path / "no" / "page.html")


NAMES = st.one_of(
    st.sampled_from(
        """drives raid tw write_buffer over_provisioning policy policies seed threads verify fail replace slow chunk
        spare stripe_width rerate requests resize_read fit cut_start columns format rw rwmixread bs iodepth rate_iops
        size number_ios runtime phases precondition config asserts intervals fan_out drive flush hedge_delay
        blocks_per_plane measure_from random_distribution html json""".split()
    ),
    st.text(max_size=12),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-3, 12),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["1ms", "10%", "4k", "base,ioda", "0", "-1", "1e9", "tpcc", "1@1s", "read.p99<1ms", "20dwpd", "/", "\0"]),
    st.binary(max_size=4),
)
VALUES = st.recursive(SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=2)), max_leaves=4)
# A run that would go through takes a moment.
BASE: dict[str, Any] = {"requests": 50, "blocks_per_plane": 64, "precondition": "fresh"}


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    workload=st.one_of(st.none(), st.sampled_from(["tpcc", "synthetic", "", "-", "--json", "\0"]), st.text(max_size=8)),
    options=st.dictionaries(NAMES, VALUES, max_size=3),
)
def test_whatever_is_asked_is_answered_or_refused(workload: Any, options: dict[str, Any], tmp_path_factory: Any) -> None:
    for document in ("html", "json", "fio_json"):
        # Documents would be written wherever a text says.
        if document in options and not isinstance(options[document], bool | None):
            options.pop(document)
    for costly in ("drives", "threads", "blocks_per_plane", "number_ios", "requests", "iodepth", "size", "runtime", "phases", "drive"):
        # What would take long if it went through: only what cannot.
        # A float that is whole is a number of requests, too.
        if isinstance(options.get(costly), int | float) and not isinstance(options[costly], bool) and options[costly] > 8:
            options.pop(costly)
    try:
        ioda.compare(workload, progress=False, **{"policies": ["base"], **BASE, **options} if "policy" not in options else {**BASE, **options})
    except ioda.Error as error:
        assert str(error) and "panicked" not in str(error) and "a bug" not in str(error)
    except (TypeError, ValueError) as error:
        # Python's own, for what is no value of an option.
        assert type(error) is TypeError, error
