"""Runs as text, and as a table and a plot in a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ioda._results import Run

# Told apart with every kind of colour vision (Okabe and Ito, 2008), in the order of the runs.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#999933")
_SHARES = (50.0, 99.0, 99.9, 99.99)
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 560, 280, 60, 12, 12, 40
_MOST_POINTS = 160


def time(micros: float) -> str:
    """A latency with three digits and its unit."""
    if np.isnan(micros):
        return "–"
    for length, unit in ((1e6, "s"), (1e3, "ms")):
        if micros >= length:
            return f"{micros / length:.3g} {unit}"
    return f"{micros:.3g} µs"


def _rows(runs: list[Run]) -> list[list[str]]:
    rows = [["policy", *(f"reads p{share:g}" for share in _SHARES), "writes p99", "extra reads", "violations"]]
    for run in runs:
        reads = [time(run.percentile(share)) for share in _SHARES]
        needed = run.device_reads - run.extra_reads
        extra = f"{100 * run.extra_reads / needed:.3g} %" if needed else "–"
        rows.append([run.label, *reads, time(run.percentile(99, "write")), extra, str(run.contract_violations)])
    return rows


def as_text(title: str, runs: list[Run]) -> str:
    """A table for a terminal."""
    rows = _rows(runs)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([title, *lines])


def shown(title: str, runs: list[Run]) -> str:
    """A table and the distribution of reads, without anything from elsewhere."""
    head, *rows = _rows(runs)
    cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    table = f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div><p>{escape(title)}</p>{table}{_plot(runs)}</div>"


def _plot(runs: list[Run]) -> str:
    runs = [run for run in runs if run.read.count]
    if not runs:
        return ""
    least = min(run.read.min_us for run in runs)
    low, high = np.log10(max(least, 1e-3)), np.log10(max(run.read.max_us for run in runs))
    low, high = np.floor(low), max(np.ceil(high), np.floor(low) + 1)
    nines = np.ceil(max(np.log10(run.read.count) for run in runs))

    def x(micros: float) -> float:
        return float(_LEFT + (np.log10(micros) - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT))

    def y(share: float) -> float:
        above = max(1 - share, 10.0**-nines)
        return float(_HEIGHT - _BOTTOM + np.log10(above) / nines * (_HEIGHT - _TOP - _BOTTOM))

    marks = []
    for decade in range(int(low), int(high) + 1):
        place = x(10.0**decade)
        marks.append(f'<line x1="{place:.1f}" x2="{place:.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}" opacity=".15"/>')
        label = escape(time(10.0**decade))
        marks.append(_label(place, _HEIGHT - _BOTTOM + 16, "middle", label))
    for count in range(int(nines) + 1):
        place = y(1 - 10.0**-count)
        marks.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{place:.1f}" y2="{place:.1f}" opacity=".15"/>')
        marks.append(_label(_LEFT - 6, place + 4, "end", f"{100 * (1 - 10.0**-count):.7g} %"))
    marks.append(_label((_LEFT + _WIDTH) / 2, _HEIGHT - 6, "middle", "latency of reads"))
    lines = [_line(run, x, y, _COLOURS[index % len(_COLOURS)]) for index, run in enumerate(runs)]
    keys = "".join(
        f'<span style="color:{_COLOURS[index % len(_COLOURS)]}">■</span> {escape(run.label)}&ensp;'
        for index, run in enumerate(runs)
    )
    picture = "".join(marks) + "".join(lines)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img" font-size="11" stroke="currentColor" '
        f'fill="none"><title>share of reads that took no longer</title>{picture}</svg><p>{keys}</p>'
    )


def _label(x: float, y: float, anchor: str, text: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="currentColor" stroke="none">{text}</text>'
    )


def _line(run: Run, x, y, colour: str) -> str:  # type: ignore[no-untyped-def]
    cdf = run.cdf()
    micros, shares = cdf["latency_us"], cdf["share"]
    # As many points as can be seen, spread over the nines.
    above = np.log10(np.maximum(1 - shares, 0.1 / run.read.count))
    wanted = np.linspace(above[0], above[-1], _MOST_POINTS)
    chosen = np.unique(np.clip(np.searchsorted(-above, -wanted), 0, len(micros) - 1))
    points = " ".join(f"{x(max(micros[each], 1e-3)):.1f},{y(shares[each]):.1f}" for each in chosen)
    return f'<polyline points="{points}" stroke="{colour}" stroke-width="1.6"/>'
