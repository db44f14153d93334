//! Mapping of several devices to one address space.

use crate::error::{OptionError, WorkloadError};
use crate::statistics::DeviceExtent;
use std::fmt;
use std::str::FromStr;
use units::MIB;

/// Rule that maps several devices to one address space.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Fold {
    /// One device after the other, each as long as its furthest request, rounded up to 1 MiB. No
    /// two devices share an address, so locality and footprint are unchanged. The default.
    #[default]
    Concatenate,
    /// Each device begins at a 1 MiB boundary drawn from its number, and wraps. Needs no statistics
    /// of the whole trace; devices may overlap.
    Hash,
    /// All devices begin at address 0 and share it.
    Overlay,
}

impl fmt::Display for Fold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Concatenate => "concatenate",
            Self::Hash => "hash",
            Self::Overlay => "overlay",
        })
    }
}

impl FromStr for Fold {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        [Self::Concatenate, Self::Hash, Self::Overlay]
            .into_iter()
            .find(|fold| fold.to_string() == text)
            .ok_or_else(|| OptionError::NotUnderstood {
                option: "fold",
                value: text.to_owned(),
                expected: "one of concatenate, hash, overlay",
            })
    }
}

/// Base address of each device, and the end of the last one.
#[derive(Clone, Debug)]
pub(super) struct Bases {
    bases: Vec<u64>,
    end: u64,
}

impl Bases {
    pub(super) fn new(
        fold: Fold,
        extents: &[DeviceExtent],
        capacity_bytes: u64,
    ) -> Result<Self, WorkloadError> {
        let mut bases = Vec::with_capacity(extents.len());
        let mut end: u64 = 0;
        for (device, extent) in (0_u32..).zip(extents) {
            let base = match fold {
                Fold::Concatenate => {
                    if device == 0 {
                        0
                    } else {
                        end.next_multiple_of(MIB)
                    }
                }
                Fold::Hash => {
                    let slots = (capacity_bytes / MIB).max(1);
                    let mut rng = units::Rng::new(u64::from(device));
                    rng.below(slots) * MIB
                }
                Fold::Overlay => 0,
            };
            let device_end = base.saturating_add(extent.end_bytes);
            if device_end > 1 << 60 {
                return Err(WorkloadError::FoldOverflow { device });
            }
            bases.push(base);
            end = end.max(device_end);
        }
        Ok(Self { bases, end })
    }

    /// Base address of `device`; 0 for a device that is not in the extents.
    pub(super) fn base(&self, device: u32) -> u64 {
        self.bases.get(device as usize).copied().unwrap_or(0)
    }

    /// First byte behind all devices.
    pub(super) fn end(&self) -> u64 {
        self.end
    }
}
