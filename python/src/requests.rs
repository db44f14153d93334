//! The requests of a run one by one, as columns that NumPy and Arrow look at without a copy.

use array::RequestKind;
use arrow_array::types::UInt8Type;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt8Array, UInt32Array, UInt64Array};
use arrow_array::{DictionaryArray, StringArray};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{Field, Schema};
use nvme::{Blocked, Cause};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_arrow::PyTable;
use sim::RequestColumns;
use std::sync::Arc;

/// The requests of a run, in the order of their completion.
#[pyclass(module = "ioda._native", frozen)]
pub(crate) struct Requests(RecordBatch);

#[pymethods]
impl Requests {
    /// The names of the columns.
    fn names(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The column of numbers called `name`: those of words are numbers of the words of `words`.
    fn column(&self, name: &str) -> PyResult<Column> {
        let column = self.0.column_by_name(name);
        column.cloned().map(Column).ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    /// The words of the column called `name`; None if it has numbers.
    fn words(&self, name: &str) -> PyResult<Option<Vec<String>>> {
        let column = self.column(name)?.0;
        let words = column.as_any().downcast_ref::<DictionaryArray<UInt8Type>>();
        let words = words.and_then(|column| column.values().as_any().downcast_ref::<StringArray>());
        Ok(words.map(|words| words.iter().flatten().map(str::to_owned).collect()))
    }

    /// All as a table with the Arrow PyCapsule interface.
    fn arrow(&self) -> PyResult<PyTable> {
        Ok(PyTable::try_new(vec![self.0.clone()], self.0.schema())?)
    }
}

/// A column that NumPy looks at.
#[pyclass(module = "ioda._native", frozen)]
pub(crate) struct Column(ArrayRef);

#[pymethods]
impl Column {
    /// Where NumPy finds its numbers, which stay there for as long as this is.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let data = self.0.to_data();
        let kind = match data.buffers().first().map(|buffer| buffer.len() / self.0.len().max(1)) {
            Some(1) => "|u1",
            Some(4) => "<u4",
            _ => "<u8",
        };
        let address = data.buffers().first().map_or(0, |buffer| buffer.as_ptr() as usize);
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", (self.0.len(),))?;
        interface.set_item("typestr", kind)?;
        interface.set_item("data", (address, true))?;
        Ok(interface)
    }
}

/// Words by their place, where columns name them by a number.
const OPERATIONS: [&str; 3] = ["read", "write", "deallocate"];
const BLOCKED: [&str; 3] = ["no", "queue", "collection"];

/// The columns of a run as one table, with the names of `docs/requests.md`.
pub(crate) fn table(parts: Vec<RequestColumns>) -> PyResult<Requests> {
    let mut all = RequestColumns::default();
    for mut part in parts {
        all.append(&mut part);
    }
    let (mut fields, mut arrays) = (Vec::new(), Vec::<ArrayRef>::new());
    let mut add = |name: &str, array: ArrayRef| {
        fields.push(Field::new(name, array.data_type().clone(), false));
        arrays.push(array);
    };
    let long = |numbers: Vec<u64>| -> ArrayRef {
        Arc::new(UInt64Array::new(ScalarBuffer::from(numbers), None))
    };
    let latency = all.completed_ns.iter().zip(&all.arrived_ns).map(|(end, start)| end - start);
    let latency: Vec<u64> = latency.collect();
    let operation = |kind: &RequestKind| match kind {
        RequestKind::Read => 0,
        RequestKind::Write => 1,
        RequestKind::Deallocate => 2,
    };
    let blocked = |blocked: &Blocked| match blocked {
        Blocked::No => 0,
        Blocked::Queue => 1,
        Blocked::Collection => 2,
    };
    let (operations, blockings): (Vec<u8>, Vec<u8>) =
        (all.kind.iter().map(operation).collect(), all.blocked.iter().map(blocked).collect());
    add("number", long(all.number));
    add("host", Arc::new(UInt8Array::from(all.host)));
    add("op", words(operations, OPERATIONS)?);
    add("offset_bytes", long(all.offset_bytes));
    add("size_bytes", long(all.size_bytes));
    add("arrived_ns", long(all.arrived_ns));
    add("completed_ns", long(all.completed_ns));
    add("latency_ns", long(latency));
    for (cause, delays) in Cause::ALL.into_iter().zip(all.delays_ns) {
        add(ioda::embed::cause_column(cause), long(delays));
    }
    add("write_ns", long(all.write_ns));
    add("busy_members", long(all.busy_members));
    add("reconstructions", Arc::new(UInt32Array::from(all.reconstructions)));
    add("blocked", words(blockings, BLOCKED)?);
    add(
        "failed",
        Arc::new(UInt8Array::from_iter_values(all.failed.iter().map(|&failed| failed.into()))),
    );
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays);
    batch.map(Requests).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn words(keys: Vec<u8>, words: [&str; 3]) -> PyResult<ArrayRef> {
    let values = Arc::new(StringArray::from_iter_values(words));
    let column = DictionaryArray::<UInt8Type>::try_new(UInt8Array::from(keys), values);
    let column = column.map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(Arc::new(column))
}
