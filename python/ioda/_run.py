"""Runs, comparisons and plans."""

import json
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

from ioda import _native
from ioda._errors import Error, UsageError
from ioda._policy import Policy, described
from ioda._progress import Tell, shown
from ioda._results import Comparison, Run
from ioda._table import RequestTable
from ioda._workload import NAME, Workload, readable

Config = str | PathLike[str] | Mapping[str, Any] | None


def _listed(policy: Any) -> list[Any]:
    """Policies as a list: names as they are, classes and objects as the compiled half takes them."""
    many = policy if isinstance(policy, (list, tuple)) else [policy]
    return [_entry(item) for item in many]


def _entry(item: Any) -> Any:
    if isinstance(item, str):
        return item
    if isinstance(item, Policy) or (isinstance(item, type) and issubclass(item, Policy)):
        return described(item)
    raise TypeError(f"a policy is a name, a class of ioda.Policy or an object of one, not {item!r:.100}")


def _simulated(
    command: str,
    workload: Workload,
    config: Config,
    progress: bool | Tell | None,
    keep_requests: bool,
    options: dict[str, Any],
) -> Comparison:
    named = {name: options.pop(name) for name in ("policy", "policies") if options.get(name) is not None}
    if len(named) == 2:
        raise UsageError("policy and policies are the same option; name one of them")
    policies = _listed(next(iter(named.values()))) if named else None
    configuration = None
    if isinstance(config, Mapping):
        configuration = dict(config)
    elif config is not None:
        options["config"] = config
    with readable(workload, options) as path, shown(progress, "requests") as tell:
        try:
            document, histograms, verdicts, requests = _native.simulate(
                command, path, options, configuration, policies, tell, bool(keep_requests)
            )
        except Error as error:
            if path is not workload:
                # Where the requests were meanwhile says nothing.
                error.args = (str(error).replace(str(path), NAME),)
            raise
    if path is not workload:
        document = document.replace(str(path), NAME)
    return Comparison(json.loads(document), histograms, verdicts, [RequestTable(each) for each in requests])


def run(
    workload: Workload = None,
    *,
    config: Config = None,
    progress: bool | Tell | None = None,
    keep_requests: bool = False,
    **options: Any,
) -> Run:
    """Runs one workload under one policy, as ``ioda run`` does.

    Args:
        workload: A preset, ``"synthetic"``, or the path of a trace or pipe; ``tpcc`` by default. Or requests in
            memory: columns with the names ``at_ns`` (or ``at_us``, ``at_ms``, ``at_s``), ``op`` (``"read"`` or
            ``"write"``), ``offset_bytes`` and ``size_bytes``, as a dict of arrays, a NumPy array with fields or a data
            frame; or an iterable of :class:`ioda.Request`. The options of traces apply to them.
        config: A configuration: the path of a TOML file, or its sections as a dict; options override it.
        progress: Whether progress is shown, by tqdm; by default where it is installed and somebody looks. Or a
            function that is called with the requests that are done and all of them, or None.
        keep_requests: Keep every request of the run in memory, about 200 bytes each, for :meth:`Run.requests`.
        options: The options of ``ioda run`` with underscores: texts with units (``tw="100ms"``), numbers, lists, and
            True for flags. ``policy`` may be a class of :class:`ioda.Policy` or an object of one.

    Returns:
        What came of it.

    Raises:
        UsageError: For options that cannot be used.
        DataError: For a trace that cannot be used.
        RunError: Where the run fails.
    """
    comparison = _simulated("run", workload, config, progress, keep_requests, options)
    run = next(iter(comparison.values()))
    run.verdicts, run.holds = comparison.verdicts, comparison.holds
    return run


def compare(
    workload: Workload = None,
    *,
    config: Config = None,
    progress: bool | Tell | None = None,
    keep_requests: bool = False,
    **options: Any,
) -> Comparison:
    """Runs one workload under several policies, as ``ioda compare`` does.

    Args:
        workload: A preset, ``"synthetic"``, or the path of a trace or pipe; ``tpcc`` by default. Or requests in
            memory: columns with the names ``at_ns`` (or ``at_us``, ``at_ms``, ``at_s``), ``op`` (``"read"`` or
            ``"write"``), ``offset_bytes`` and ``size_bytes``, as a dict of arrays, a NumPy array with fields or a data
            frame; or an iterable of :class:`ioda.Request`. The options of traces apply to them.
        config: A configuration: the path of a TOML file, or its sections as a dict; options override it.
        progress: As in :func:`ioda.run`.
        keep_requests: As in :func:`ioda.run`.
        options: The options of ``ioda compare``, as in :func:`ioda.run`. ``policies`` is a list of names, classes of
            :class:`ioda.Policy` and objects of these.

    Returns:
        A mapping from names of policies to runs, which shows itself in a notebook.

    Raises:
        UsageError: For options that cannot be used.
        DataError: For a trace that cannot be used.
        RunError: Where a run fails.
    """
    return _simulated("compare", workload, config, progress, keep_requests, options)


def plan(**options: Any) -> dict[str, Any]:
    """Computes which busy windows keep the contract, as ``ioda plan`` does.

    Args:
        options: The options of ``ioda plan`` with underscores, such as ``drive="femu"``, ``drives=8`` and
            ``load=["20dwpd", "burst"]``.

    Returns:
        The document of ``ioda plan --json``. Units stand at the end of its names.

    Raises:
        UsageError: For options that cannot be used.
    """
    document: dict[str, Any] = json.loads(_native.plan(options))
    return document


def policies() -> dict[str, str]:
    """The policies that ioda knows by name, and what each does."""
    known: Iterable[tuple[str, str]] = _native.policies()
    return dict(known)
