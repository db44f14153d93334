//! Groups of runs that wait for the other runs of their experiments, in few bytes: a result takes
//! about a megabyte, and hundreds of groups wait.

use super::runs::Group;
use crate::failure::Failure;
use crate::jobs::Packed;
use std::mem;

/// A group of runs, packed.
pub(super) struct PackedGroup {
    /// The group without its results.
    bare: Group,
    results: Vec<Packed>,
}

impl PackedGroup {
    /// Packs a group.
    pub(super) fn new(mut group: Group) -> Result<Self, Failure> {
        let results = mem::take(&mut group.outcome.results);
        let packed = results.iter().map(Packed::new).collect::<Result<_, _>>();
        let results =
            packed.map_err(|error| Failure::internal(format!("cannot pack a result: {error}")))?;
        Ok(Self { bare: group, results })
    }

    /// Unpacks the group.
    pub(super) fn unpack(&self) -> Result<Group, Failure> {
        let mut group = self.bare.clone();
        let results = self.results.iter().map(Packed::unpack).collect::<Result<_, _>>();
        group.outcome.results = results
            .map_err(|error| Failure::internal(format!("cannot unpack a result: {error}")))?;
        Ok(group)
    }
}
