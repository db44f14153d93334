//! Reports of a drive on itself: totals, and the lists that a driver has asked for.

use crate::counters::Counters;
use crate::dies::Task;
use crate::event::{Event, Origin};
use crate::flash::CollectionSpan;
use crate::media::Media;
use crate::violation::{Violation, Violations};
use alloc::vec::Vec;
use nvme::CommandId;
use units::{EventLog, Instant, Observe};

/// Totals, and the lists that a driver has asked for.
#[derive(Clone, Debug)]
pub(crate) struct Journal<O: Observe> {
    counters: Counters,
    violations: Violations,
    /// Changes of flash pages; `None` unless a driver carries their data.
    media: Option<Vec<Media>>,
    /// Collections that ended; `None` unless a driver asked for them.
    spans: Option<Vec<CollectionSpan>>,
    /// The host's identifier of the command in each slot, and of the command behind each
    /// reconstruction; empty if no events are kept.
    commands: Vec<CommandId>,
    reconstructions: Vec<CommandId>,
    log: O::Log<Event>,
}

impl<O: Observe> Journal<O> {
    /// Whether events are kept.
    pub(crate) const OBSERVED: bool = <O::Log<Event> as EventLog<Event>>::ENABLED;

    pub(crate) fn new() -> Self {
        Self {
            counters: Counters::default(),
            violations: Violations::default(),
            media: None,
            spans: None,
            commands: Vec::new(),
            reconstructions: Vec::new(),
            log: O::Log::default(),
        }
    }

    /// The same totals and lists for another observer; events that were not taken are dropped.
    pub(crate) fn observed<O2: Observe>(self) -> Journal<O2> {
        let Self { counters, violations, media, spans, commands, reconstructions, log: _ } = self;
        let log = O2::Log::default();
        Journal { counters, violations, media, spans, commands, reconstructions, log }
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    #[inline]
    pub(crate) fn counters_mut(&mut self) -> &mut Counters {
        &mut self.counters
    }

    pub(crate) fn violations(&self) -> &[Violation] {
        self.violations.kept()
    }

    /// Sets totals to zero and forgets violations.
    pub(crate) fn reset(&mut self) {
        self.counters = Counters::default();
        self.violations = Violations::default();
    }

    pub(crate) fn record_media(&mut self) {
        self.media = Some(Vec::new());
    }

    pub(crate) fn take_media(&mut self, into: &mut Vec<Media>) {
        if let Some(media) = &mut self.media {
            into.append(media);
        }
    }

    pub(crate) fn record_collections(&mut self) {
        self.spans = Some(Vec::new());
    }

    pub(crate) fn take_collections(&mut self, into: &mut Vec<CollectionSpan>) {
        if let Some(spans) = &mut self.spans {
            into.append(spans);
        }
    }

    /// Records a collection that has broken the window contract.
    pub(crate) fn violated(&mut self, violation: Violation) {
        self.counters.contract_violations += 1;
        self.violations.add(violation);
    }

    /// Whether a driver carries the data of pages.
    pub(crate) fn carries_data(&self) -> bool {
        self.media.is_some()
    }

    /// Lists what happens to a page, if a driver carries its data.
    #[inline]
    pub(crate) fn media(&mut self, change: impl FnOnce() -> Media) {
        if let Some(media) = &mut self.media {
            media.push(change());
        }
    }

    /// Lists a collection that ended, if a driver asked for collections.
    pub(crate) fn span(&mut self, span: CollectionSpan) {
        if let Some(spans) = &mut self.spans {
            spans.push(span);
        }
    }

    /// Sets the identifier of the command in a slot, for events.
    #[inline]
    pub(crate) fn name_command(&mut self, slot: u32, id: CommandId) {
        if Self::OBSERVED {
            name(&mut self.commands, slot, id);
        }
    }

    /// Sets the identifier of the command behind a reconstruction, for events.
    pub(crate) fn name_reconstruction(&mut self, slot: u32, id: CommandId) {
        if Self::OBSERVED {
            name(&mut self.reconstructions, slot, id);
        }
    }

    /// Origin of a page operation, for events.
    pub(crate) fn origin_of(&self, task: Task) -> Origin {
        match task {
            Task::Read { command, block, .. }
            | Task::SharedRead { command, block, .. }
            | Task::Program { command, block, .. } => {
                Origin::Command { id: self.commands[command as usize], block }
            }
            Task::StripeRead { reconstruction, .. } => {
                Origin::Reconstruction { id: self.reconstructions[reconstruction as usize] }
            }
            Task::ParityRead { page, .. } => Origin::Parity { page },
            Task::Flush { logical: page, .. } | Task::StripeProgram { page, .. } => {
                Origin::Flush { page }
            }
            Task::FlushUnit { page, .. } => Origin::FlushUnit { flash_page: page },
            Task::Hold { collection } => Origin::Collection { collection },
        }
    }

    #[inline(always)]
    pub(crate) fn emit(&mut self, at: Instant, event: impl FnOnce() -> Event) {
        self.log.emit(at, event);
    }

    pub(crate) fn drain_events(&mut self, take: impl FnMut(Instant, Event)) {
        self.log.drain(take);
    }

    pub(crate) fn each_event(&self, see: impl FnMut(Instant, &Event)) {
        self.log.each(see);
    }
}

fn name(names: &mut Vec<CommandId>, slot: u32, id: CommandId) {
    if names.len() <= slot as usize {
        names.resize(slot as usize + 1, id);
    }
    names[slot as usize] = id;
}
