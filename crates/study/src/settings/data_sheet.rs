//! Data sheets in configuration files: `[drive.data_sheet]`.

use crate::failure::Failure;
use crate::values::decimal::{DecimalRate, DecimalSize};
use crate::values::quantity::{Span, Text};
use crate::values::words::FlashName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::presets::{Flash, SheetDrive};
use units::{Duration, Ratio};

/// The figures of a data sheet, from which a whole drive is made: `[drive.data_sheet]`. The table
/// stands in the place of `base`. GB are 10^9 bytes here, GiB are 2^30.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DataSheetSettings {
    /// Bytes that the host sees; always needed.
    pub capacity: Option<Text<DecimalSize>>,
    /// Sequential reads of 128 KiB, the rate of the link; always needed.
    pub sequential_read: Option<Text<DecimalRate>>,
    /// Sequential writes of 128 KiB, which all dies program together; always needed. For a drive
    /// with an SLC cache, the rate behind the cache.
    pub sequential_write: Option<Text<DecimalRate>>,
    /// Random reads of 4 KiB per second, the most commands of the link; always needed.
    pub random_read: Option<u64>,
    /// Random writes of 4 KiB per second in steady state: compared with the model by `ioda presets
    /// drives --calibration`, otherwise unused.
    pub random_write: Option<u64>,
    /// A read of 4 KiB alone [default: 80us, QLC 108us].
    pub read_latency: Option<Text<Span>>,
    /// A write of 4 KiB alone [default: 20us, QLC 13us].
    pub write_latency: Option<Text<Span>>,
    /// Drive writes per day over the warranty [default: 1, QLC 0.58].
    pub drive_writes_per_day: Option<f64>,
    /// The write buffer survives a power cut: 4 MiB for each die, else two programs of each die
    /// [default: true].
    pub power_loss_protection: Option<bool>,
    /// Bits in a cell: three (tlc) or four (qlc) [default: tlc].
    pub flash: Option<Text<FlashName>>,
}

/// The value of a key that a drive cannot be made without.
fn needed<T: Copy>(key: &str, value: Option<T>) -> Result<T, Failure> {
    value.ok_or_else(|| {
        Failure::usage(format!(
            "data_sheet.{key} is missing; a drive is made from capacity, sequential_read, \
             sequential_write and random_read, so add it to [drive.data_sheet]"
        ))
    })
}

fn span(text: &Option<Text<Span>>) -> Option<Duration> {
    text.as_ref().map(|text| text.value.0)
}

impl DataSheetSettings {
    /// The data sheet that pairs such as `capacity=960GB` spell, with the keys of
    /// `[drive.data_sheet]`.
    ///
    /// # Errors
    ///
    /// One sentence with the pair that cannot be used.
    pub fn from_pairs(pairs: &[String]) -> Result<Self, Failure> {
        let (mut table, mut sheet) = (serde_json::Map::new(), Self::default());
        for pair in pairs {
            let Some((key, text)) = pair.split_once('=') else {
                return Err(Failure::usage(format!(
                    "`{pair}` is no figure of a data sheet; write key=value, such as capacity=960GB"
                )));
            };
            let number = text.replace('_', "");
            let is_plain = number.parse::<f64>().is_ok() || ["true", "false"].contains(&text);
            let value = match serde_json::from_str(&number) {
                Ok(value) if is_plain => value,
                _ => serde_json::Value::from(text),
            };
            if table.insert(key.to_owned(), value).is_some() {
                return Err(Failure::usage(format!("{key} appears twice; keep one of both")));
            }
            // The pairs before it were understood, so that an error is about this one.
            sheet = serde_json::from_value(table.clone().into())
                .map_err(|error| Failure::usage(format!("`{pair}` is not understood: {error}")))?;
        }
        Ok(sheet)
    }

    /// The figures, of a drive whose spare share is `over_provisioning` if that is set.
    pub fn figures(&self, over_provisioning: Option<Ratio>) -> Result<SheetDrive, Failure> {
        let rate = |text: &Option<Text<DecimalRate>>| text.as_ref().map(|text| text.value.0);
        let capacity = self.capacity.as_ref().map(|text| text.value.0);
        Ok(SheetDrive {
            capacity_bytes: needed("capacity", capacity)?,
            sequential_read_bytes_per_second: needed(
                "sequential_read",
                rate(&self.sequential_read),
            )?,
            sequential_write_bytes_per_second: needed(
                "sequential_write",
                rate(&self.sequential_write),
            )?,
            random_reads_per_second: needed("random_read", self.random_read)?,
            random_writes_per_second: self.random_write,
            read_latency: span(&self.read_latency),
            write_latency: span(&self.write_latency),
            drive_writes_per_day: self.drive_writes_per_day,
            power_loss_protection: self.power_loss_protection.unwrap_or(true),
            flash: self.flash.as_ref().map_or(Flash::default(), |text| text.value.0),
            over_provisioning,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(words: &str) -> Result<DataSheetSettings, Failure> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        DataSheetSettings::from_pairs(&words)
    }

    #[test]
    fn pairs_spell_a_data_sheet() {
        let sheet = pairs(
            "capacity=960GB sequential_read=6500MB/s sequential_write=1500MB/s random_read=580_000 \
             read_latency=75us drive_writes_per_day=0.8 power_loss_protection=false flash=tlc",
        );
        let figures = sheet.unwrap().figures(None).unwrap();
        assert_eq!(figures.capacity_bytes, 960_000_000_000);
        assert_eq!(
            (figures.random_reads_per_second, figures.power_loss_protection),
            (580_000, false)
        );
        assert_eq!(figures.drive_writes_per_day, Some(0.8));
    }

    #[test]
    fn pairs_that_cannot_be_used_are_named() {
        let refused = |words| pairs(words).unwrap_err().to_string();
        assert!(refused("960GB").contains("`960GB` is no figure"));
        assert!(refused("size=960GB").contains("`size=960GB` is not understood: unknown field"));
        assert!(refused("capacity=many").contains("`capacity=many`"));
        assert!(refused("random_read=fast").contains("`random_read=fast`"));
        assert!(refused("flash=tlc flash=qlc").contains("flash appears twice"));
    }
}
