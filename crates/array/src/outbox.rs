//! Output of an array: actions for its driver, events for an observer.

use crate::action::{Action, DataAction, OpId};
use crate::event::Event;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use nvme::Command;
use units::{DriveId, EventLog, Instant, Observe};

/// Place of one action in the order of all.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// [`Action::Submit`], stored apart: most actions are such, and others are up to five times as
    /// large.
    Submit { drive: DriveId, command: Command, op: OpId, member: u8 },
    /// The first action in `others`.
    Other,
}

/// Actions and events that have not been taken yet.
#[derive(Clone, Debug)]
pub(crate) struct Outbox<O: Observe> {
    order: VecDeque<Next>,
    others: VecDeque<Action>,
    /// Whether data actions are on.
    data_actions: bool,
    events: O::Log<Event>,
}

impl<O: Observe> Outbox<O> {
    pub(crate) fn new(data_actions: bool) -> Self {
        Self {
            order: VecDeque::new(),
            others: VecDeque::new(),
            data_actions,
            events: O::Log::default(),
        }
    }

    #[inline]
    pub(crate) fn emit(&mut self, action: Action) {
        self.order.push_back(Next::Other);
        self.others.push_back(action);
    }

    /// [`Action::Submit`].
    #[inline]
    pub(crate) fn submit(&mut self, drive: DriveId, command: Command, op: OpId, member: u8) {
        self.order.push_back(Next::Submit { drive, command, op, member });
    }

    /// Emits a data action if data actions are on.
    #[inline]
    pub(crate) fn emit_data(&mut self, action: impl FnOnce() -> DataAction) {
        if self.data_actions {
            self.emit(Action::Data(action()));
        }
    }

    /// Whether data actions are on.
    #[inline]
    pub(crate) fn has_data_actions(&self) -> bool {
        self.data_actions
    }

    #[inline]
    pub(crate) fn emit_event(&mut self, at: Instant, event: impl FnOnce() -> Event) {
        self.events.emit(at, event);
    }

    #[inline]
    pub(crate) fn poll(&mut self) -> Option<Action> {
        match self.order.pop_front()? {
            Next::Submit { drive, command, op, member } => {
                Some(Action::Submit { drive, command, op, member })
            }
            Next::Other => self.others.pop_front(),
        }
    }

    /// Retracts the actions for which `drop` returns `true`; it is not asked about
    /// [`Action::Submit`].
    pub(crate) fn retract(&mut self, mut drop: impl FnMut(&Action) -> bool) {
        let drops: Vec<bool> = self.others.iter().map(&mut drop).collect();
        let (mut in_order, mut in_others) = (drops.iter(), drops.iter());
        self.order
            .retain(|next| matches!(next, Next::Submit { .. }) || in_order.next() == Some(&false));
        self.others.retain(|_| in_others.next() == Some(&false));
    }

    pub(crate) fn drain_events(&mut self, take: impl FnMut(Instant, Event)) {
        self.events.drain(take);
    }

    pub(crate) fn each_event(&self, see: impl FnMut(Instant, &Event)) {
        self.events.each(see);
    }
}
