"""Columns with names."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from ioda import _native

Column = npt.NDArray[Any]
_SHOWN = 20


class Table(Mapping[str, Column]):
    """A mapping from names to columns of one length, each a NumPy array. Units stand at the end of the names.

    ``polars.DataFrame(table)``, ``pyarrow.table(table)`` and ``pandas.DataFrame(dict(table))`` make data frames of it;
    the first two through the Arrow PyCapsule interface, without a copy of what it gives them.
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._columns = {name: np.asarray(column) for name, column in columns.items()}
        lengths = {column.shape for column in self._columns.values()}
        if len(lengths) > 1:
            raise ValueError(f"columns of one table have one length, not {sorted(lengths)}")

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return next((len(column) for column in self._columns.values()), 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return list(self) == list(other) and all(_same(self[name], other[name]) for name in self)

    __hash__ = None  # type: ignore[assignment]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as a stream of Arrow's C interface."""
        columns = [(name, _plain(column)) for name, column in self._columns.items()]
        return _native.arrow(columns).__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        lines = [f"{self.rows} rows: {', '.join(self)}"]
        lines += ["  ".join(_text(column[row]) for column in self.values()) for row in range(min(self.rows, _SHOWN))]
        return "\n".join(lines + (["…"] if self.rows > _SHOWN else []))

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self)
        rows = range(min(self.rows, _SHOWN))
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(_text(column[row]))}</td>" for column in self.values()) + "</tr>"
            for row in rows
        )
        more = f"<p>{self.rows} rows, of which {_SHOWN} are shown</p>" if self.rows > _SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


class RequestTable(Table):
    """The requests of a run one by one, in the order of their completion, with the columns of ``docs/requests.md`` but for
    ``policy``. Numbers are looked at where the run has left them; words are made when they are asked for."""

    def __init__(self, native: _native.Requests) -> None:
        super().__init__({})
        self._native = native
        self._columns = dict.fromkeys(native.names(), np.empty(0))

    def __getitem__(self, name: str) -> Column:
        if name not in self._columns:
            raise KeyError(name)
        column: Column = np.asarray(self._native.column(name))
        words = self._native.words(name)
        if words is not None:
            return np.asarray(words)[column]
        return column.view(bool) if name == "failed" else column

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self["number"])

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as a stream of Arrow's C interface, without a copy."""
        return self._native.arrow().__arrow_c_stream__(requested_schema)

    def __reduce__(self) -> tuple[Any, ...]:
        return Table, ({name: np.array(self[name]) for name in self},)


def _same(one: Column, other: Column) -> bool:
    numbers = one.dtype.kind == "f" and other.dtype.kind == "f"
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=numbers)


def _plain(column: Column) -> Any:
    """A column as the compiled half takes it: 64 bits wide, or a list of texts."""
    match column.dtype.kind:
        case "f":
            return np.ascontiguousarray(column, "<f8")
        case "i":
            return np.ascontiguousarray(column, "<i8")
        case "u":
            return np.ascontiguousarray(column, "<u8")
        case "b":
            return np.ascontiguousarray(column)
        case _:
            return [None if value is None else str(value) for value in column.tolist()]


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
