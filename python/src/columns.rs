//! Columns of numbers and words, as Arrow has them.

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array,
};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema};
use arrow_select::concat::concat_batches;
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use pyo3_arrow::PyTable;
use std::sync::Arc;

/// A table with the Arrow PyCapsule interface, of pairs of a name and a column: a list of texts, or
/// an array of float64, int64, uint64 or bool. All have the same length.
#[pyfunction]
pub(crate) fn arrow(columns: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<PyTable> {
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    for (name, column) in columns {
        let array = array(&column)?;
        fields.push(Field::new(name, array.data_type().clone(), array.is_nullable()));
        arrays.push(array);
    }
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), arrays);
    let batch = batch.map_err(|error| PyValueError::new_err(error.to_string()))?;
    PyTable::try_new(vec![batch], schema)
}

/// The columns of anything with the Arrow PyCapsule interface: a name, and a list of texts or None,
/// or the bytes of numbers and what they are in NumPy's words (`<f8`, `<i8` or `<u8`).
#[pyfunction]
pub(crate) fn columns<'py>(py: Python<'py>, frame: PyTable) -> PyResult<Vec<Exported<'py>>> {
    let (batches, schema) = frame.into_inner();
    let failed = |error: ArrowError| PyValueError::new_err(error.to_string());
    let batch = concat_batches(&schema, &batches).map_err(failed)?;
    let fields = schema.fields().iter().zip(batch.columns());
    let column = |(field, column): (&FieldRef, &ArrayRef)| {
        let (kind, wide) = match column.data_type() {
            kind if column.null_count() > 0 => ("", kind.clone()),
            DataType::UInt64 => ("<u8", DataType::UInt64),
            kind if kind.is_integer() => ("<i8", DataType::Int64),
            kind if kind.is_floating() => ("<f8", DataType::Float64),
            kind => ("", kind.clone()),
        };
        let wide = if kind.is_empty() { DataType::Utf8 } else { wide };
        let column = cast(column, &wide).map_err(failed)?;
        let value = match column.as_string_opt::<i32>() {
            Some(texts) => PyList::new(py, texts.iter())?.into_any(),
            None => PyBytes::new(py, column.to_data().buffers()[0].as_slice()).into_any(),
        };
        Ok((field.name().clone(), kind, value))
    };
    fields.map(column).collect()
}

/// A name, what its numbers are or nothing for texts, and the values.
type Exported<'py> = (String, &'static str, Bound<'py, PyAny>);

fn array(column: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    if let Ok(words) = column.extract::<Vec<Option<String>>>() {
        return Ok(Arc::new(StringArray::from(words)));
    }
    let kind: String = column.getattr("dtype")?.getattr("str")?.extract()?;
    Ok(match kind.as_str() {
        "<f8" => Arc::new(Float64Array::from(numbers::<f64>(column)?)),
        "<i8" => Arc::new(Int64Array::from(numbers::<i64>(column)?)),
        "<u8" => Arc::new(UInt64Array::from(numbers::<u64>(column)?)),
        "|b1" => {
            Arc::new(BooleanArray::from(column.call_method0("tolist")?.extract::<Vec<bool>>()?))
        }
        _ => return Err(PyTypeError::new_err(format!("a column cannot be of {kind}"))),
    })
}

fn numbers<T: Element>(column: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    PyBuffer::<T>::get(column)?.to_vec(column.py())
}
