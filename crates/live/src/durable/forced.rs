//! An array that is put together because people say so, and what they are told before.

use super::format::{FoundArray, OpenError, disks_at};
use super::{Geometry, Refusal};
use crate::storage::DriveLocation;
use ::engine::durability::{self, Fate, Taking};
use std::fmt;

/// What is going to be done to an array that was refused.
#[derive(Debug)]
pub struct Account {
    takings: Vec<Taking>,
    /// Where each drive is.
    places: Vec<Option<String>>,
}

impl OpenError {
    /// Whether people may have the array put together nevertheless: its drives disagree about who
    /// was there, or a journal cannot be relied on.
    #[must_use]
    pub fn may_be_forced(&self) -> bool {
        matches!(
            self,
            Self::Array(
                durability::OpenError::Refused(
                    Refusal::TooFew { .. } | Refusal::Split { .. } | Refusal::Disagree { .. }
                ) | durability::OpenError::Journal(_)
            )
        )
    }
}

/// Finds the array on `places`, whatever its drives say of each other, and tells what would become
/// of each. Nothing has been written.
///
/// # Errors
///
/// For any reason of [`OpenError`]: drives of two arrays, copies of one drive, too few of one
/// history.
pub fn find_forced(
    places: &[DriveLocation],
    asked: Option<&Geometry>,
) -> Result<(FoundArray, Account), OpenError> {
    let (opening, takings) = durability::find_forced(disks_at(places)?, asked)?;
    let name = |taking: &Taking| taking.place.map(|place| places[place].to_string());
    let names = takings.iter().map(name).collect();
    Ok((FoundArray::new(opening)?, Account { takings, places: names }))
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (taking, place) in self.takings.iter().zip(&self.places) {
            match place {
                Some(place) => writeln!(f, "  {taking}, at {place}")?,
                None => writeln!(f, "  {taking}")?,
            }
        }
        let outdated = self.takings.iter().filter(|taking| taking.fate == Fate::Outdated);
        match outdated.map(|taking| taking.generation).min() {
            Some(generation) => writeln!(
                f,
                "Whatever was written since generation {generation} may be lost, old, or mixed of old and new, \
                 in any stripe, flushed or not."
            )?,
            None => writeln!(f, "What only the drives have that are left out is lost.")?,
        }
        let left_out = |taking: &&Taking| {
            matches!(taking.fate, Fate::LeftOut | Fate::Apart | Fate::Incomplete | Fate::Missing)
        };
        if self.takings.iter().any(|taking| left_out(&taking)) {
            writeln!(
                f,
                "Drives that are left out count as failed from now on: `ioda ctl replace` rebuilds them, which \
                 takes away what they hold."
            )?;
        }
        write!(
            f,
            "The superblocks of the drives that are taken are written anew, and the start cannot be taken back: \
             copy the drives first if they matter, and check the file systems on them afterwards."
        )
    }
}
