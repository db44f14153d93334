//! Keyword arguments as the words of a command line.

use crate::error::{raised, usage};
use ioda::embed::{Value, Words};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyDelta, PyDeltaAccess, PyDict, PyFloat, PyInt, PyList, PySet, PyString, PyTuple,
};
use std::ffi::OsString;
use std::path::PathBuf;

/// How deep a configuration may be: a section, a key, a list, and room to spare.
const DEEPEST: usize = 6;
/// Longer numbers are a mistake, and take Python long to write down.
const MOST_BITS: usize = 4096;

/// The words of the command called `name`. What is `None` is left out.
pub(crate) fn words(
    name: &str,
    last: Option<&Bound<'_, PyAny>>,
    options: &Bound<'_, PyDict>,
) -> PyResult<Words> {
    let py = options.py();
    let mut words = Words::new(name).map_err(|error| raised(py, &error))?;
    if let Some(last) = last {
        words.set_last(text(last, "the workload")?);
    }
    for (name, value) in options {
        let name: String = name
            .extract()
            .map_err(|_| usage(py, format!("{name:?} cannot be the name of an option")))?;
        add(&mut words, &name, &value)?;
    }
    Ok(words)
}

/// Adds one option.
pub(crate) fn add(words: &mut Words, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    match value_of(value, name)? {
        Some(added) => words.add(name, &added).map_err(|error| raised(value.py(), &error)),
        None => Ok(()),
    }
}

fn value_of(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Value>> {
    if value.is_none() {
        return Ok(None);
    }
    if let Some(on) = switch(value)? {
        return Ok(Some(Value::Switch(on)));
    }
    if is_list(value) {
        let list: PyResult<Vec<OsString>> =
            value.try_iter()?.map(|item| text(&item?, name)).collect();
        return Ok(Some(Value::List(list?)));
    }
    Ok(Some(Value::Text(text(value, name)?)))
}

fn is_list(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>()
}

/// Python's `True` and `False`, and NumPy's.
fn switch(value: &Bound<'_, PyAny>) -> PyResult<Option<bool>> {
    if let Ok(on) = value.cast::<PyBool>() {
        return Ok(Some(on.is_true()));
    }
    let is_numpy = value.get_type().name()?.to_string_lossy().starts_with("bool");
    if is_numpy && value.hasattr("dtype")? { value.is_truthy().map(Some) } else { Ok(None) }
}

/// A value as it would be typed: numbers to the last digit, times in nanoseconds.
fn text(value: &Bound<'_, PyAny>, name: &str) -> PyResult<OsString> {
    let py = value.py();
    if let Some(on) = switch(value)? {
        return Ok(on.to_string().into());
    }
    if value.is_instance_of::<PyString>() {
        return value
            .extract()
            .map_err(|_| usage(py, format!("{name} is no text that can be typed")));
    }
    if value.is_instance_of::<PyFloat>() {
        let number: f64 = value.extract()?;
        return Ok(format!("{number}").into());
    }
    if let Ok(delta) = value.cast::<PyDelta>() {
        let seconds = i128::from(delta.get_days()) * 86_400 + i128::from(delta.get_seconds());
        let nanos = (seconds * 1_000_000 + i128::from(delta.get_microseconds())) * 1_000;
        return Ok(format!("{nanos}ns").into());
    }
    if value.is_instance_of::<PyInt>() || value.hasattr("__index__")? {
        let number = value.call_method0("__index__")?;
        let bits: usize = number.call_method0("bit_length")?.extract()?;
        if bits > MOST_BITS {
            return Err(usage(py, format!("{name} is a number of {bits} bits")));
        }
        return number.str()?.extract();
    }
    if value.hasattr("__fspath__")? {
        return Ok(value.extract::<PathBuf>()?.into_os_string());
    }
    if value.hasattr("__float__")? && value.hasattr("dtype")? {
        let number: f64 = value.extract()?;
        return Ok(format!("{number}").into());
    }
    let kind = value.get_type();
    Err(PyTypeError::new_err(format!("{name} cannot be a {}", kind.name()?.to_string_lossy())))
}

/// A configuration, which is a dict of sections, as TOML.
pub(crate) fn toml(configuration: &Bound<'_, PyDict>) -> PyResult<String> {
    let value = toml_value(configuration.as_any(), DEEPEST)?;
    toml::to_string(&value).map_err(|error| usage(configuration.py(), format!("config: {error}")))
}

fn toml_value(value: &Bound<'_, PyAny>, deepest: usize) -> PyResult<toml::Value> {
    let py = value.py();
    if deepest == 0 {
        return Err(usage(py, "config is deeper than sections with keys"));
    }
    if let Some(on) = switch(value)? {
        return Ok(toml::Value::Boolean(on));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        let mut table = toml::Table::new();
        for (key, value) in dict {
            let key: String =
                key.extract().map_err(|_| usage(py, format!("config: {key:?} cannot be a key")))?;
            if !value.is_none() {
                table.insert(key, toml_value(&value, deepest - 1)?);
            }
        }
        return Ok(toml::Value::Table(table));
    }
    if is_list(value) {
        let values = value.try_iter()?.map(|item| toml_value(&item?, deepest - 1));
        return Ok(toml::Value::Array(values.collect::<PyResult<_>>()?));
    }
    if value.is_instance_of::<PySet>() {
        return Err(PyTypeError::new_err("config has a set, which has no order"));
    }
    if value.is_instance_of::<PyInt>()
        && let Ok(number) = value.extract()
    {
        return Ok(toml::Value::Integer(number));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(toml::Value::Float(value.extract()?));
    }
    let text = text(value, "a value of config")?;
    let text = text.into_string();
    let text = text.map_err(|_| usage(py, "config has a value that is no text"))?;
    Ok(toml::Value::String(text))
}
