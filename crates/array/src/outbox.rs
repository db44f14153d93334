//! What an array has to say: actions to its driver, events to whoever watches.

use crate::action::{Action, DataAction};
use crate::event::Event;
use alloc::collections::VecDeque;
use units::{EventLog, Instant, Observe};

/// Actions and events that nobody has taken yet.
#[derive(Clone, Debug)]
pub(crate) struct Outbox<O: Observe> {
    actions: VecDeque<Action>,
    /// Whether data actions are on.
    data_actions: bool,
    events: O::Log<Event>,
}

impl<O: Observe> Outbox<O> {
    pub(crate) fn new(data_actions: bool) -> Self {
        Self { actions: VecDeque::new(), data_actions, events: O::Log::default() }
    }

    #[inline]
    pub(crate) fn emit(&mut self, action: Action) {
        self.actions.push_back(action);
    }

    /// Says what to do with data, if anybody wants to know.
    #[inline]
    pub(crate) fn emit_data(&mut self, action: impl FnOnce() -> DataAction) {
        if self.data_actions {
            self.actions.push_back(Action::Data(action()));
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
        self.actions.pop_front()
    }

    /// Takes back the actions that `drop` names.
    pub(crate) fn retract(&mut self, mut drop: impl FnMut(&Action) -> bool) {
        self.actions.retain(|action| !drop(action));
    }

    pub(crate) fn drain_events(&mut self, take: impl FnMut(Instant, Event)) {
        self.events.drain(take);
    }
}
