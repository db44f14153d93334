//! Devices of a trace: names in the trace, numbers in requests.

use super::stray;
use crate::error::{LineProblem, excerpt};
use std::collections::HashMap;
use std::sync::Arc;

/// Most devices of a trace.
const MOST_DEVICES: usize = 1 << 20;

/// Numbers of devices, in the order of their first requests.
#[derive(Default)]
pub(super) struct Devices {
    numbers: HashMap<Arc<str>, u32>,
    names: Vec<Arc<str>>,
    /// Device of the last request, which is often the device of the next one.
    last: Option<(String, u32)>,
}

impl Devices {
    /// Number of the device with this name; a new name gets a new number.
    pub(super) fn number(&mut self, device: &str) -> Result<u32, LineProblem> {
        if let Some((name, number)) = &self.last
            && name == device
        {
            return Ok(*number);
        }
        let number = match self.numbers.get(device) {
            Some(number) => *number,
            None if self.numbers.len() == MOST_DEVICES => {
                return Err(LineProblem::TooManyDevices {
                    text: excerpt(device),
                    limit: MOST_DEVICES,
                });
            }
            None => {
                let number = self.numbers.len() as u32;
                let name: Arc<str> = device.into();
                self.names.push(Arc::clone(&name));
                self.numbers.insert(name, number);
                number
            }
        };
        let (name, last) = self.last.get_or_insert_default();
        name.clear();
        name.push_str(device);
        *last = number;
        Ok(number)
    }

    /// Name of the device with this number, as in the trace.
    pub(super) fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", |name| name)
    }

    /// All names in printable form, by number.
    pub(super) fn names(&self) -> Vec<String> {
        self.names.iter().map(|name| stray::shown(name).into_owned()).collect()
    }
}
