//! The data of feature 13h: predictable latency mode (libnvme `struct nvme_plm_config`).

use crate::wire::field::{get, get_u16, get_u64, put, put_u16, put_u64};
use crate::wire::ioda::{ArraySettings, SETTINGS_BYTES, SettingsError};

/// Bytes of the data.
pub const WINDOW_CONFIG_BYTES: usize = 512;

const EVENTS: usize = 0;
const READS_THRESHOLD: usize = 32;
const WRITES_THRESHOLD: usize = 40;
const TIME_THRESHOLD: usize = 48;
/// Reserved bytes from here on: the block of IODA.
const IODA: usize = 56;

/// Configuration of predictable latency mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WindowConfig {
    /// Enable Event @0: [`window_event`](crate::wire::window_event)s that are wanted.
    pub events: u16,
    /// DTWIN Reads Threshold @32.
    pub reads_threshold: u64,
    /// DTWIN Writes Threshold @40.
    pub writes_threshold: u64,
    /// DTWIN Time Threshold @48, in milliseconds.
    pub time_threshold_ms: u64,
    /// The block of IODA @56. Its presence in the host's data is the magic word; a drive returns it
    /// to a host that has sent it.
    pub ioda: Option<ArraySettings>,
}

impl WindowConfig {
    /// Reads the data.
    ///
    /// # Errors
    ///
    /// If the block of IODA is there and has invalid settings. The answer is
    /// [`InvalidField`](crate::wire::StatusCode::InvalidField), and nothing is changed.
    pub fn decode(data: &[u8; WINDOW_CONFIG_BYTES]) -> Result<Self, SettingsError> {
        Ok(Self {
            events: get_u16(data, EVENTS),
            reads_threshold: get_u64(data, READS_THRESHOLD),
            writes_threshold: get_u64(data, WRITES_THRESHOLD),
            time_threshold_ms: get_u64(data, TIME_THRESHOLD),
            ioda: ArraySettings::decode(&get::<SETTINGS_BYTES>(data, IODA))?,
        })
    }

    /// Writes the data.
    #[must_use]
    pub fn encode(&self) -> [u8; WINDOW_CONFIG_BYTES] {
        let mut data = [0; WINDOW_CONFIG_BYTES];
        put_u16(&mut data, EVENTS, self.events);
        put_u64(&mut data, READS_THRESHOLD, self.reads_threshold);
        put_u64(&mut data, WRITES_THRESHOLD, self.writes_threshold);
        put_u64(&mut data, TIME_THRESHOLD, self.time_threshold_ms);
        if let Some(settings) = &self.ioda {
            put(&mut data, IODA, &settings.encode());
        }
        data
    }
}
