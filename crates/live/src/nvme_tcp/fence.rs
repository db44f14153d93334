//! Answers to reservation commands that wait: for commands of preempted hosts that are in progress,
//! and for a state that is to be kept first.
//!
//! A host that is preempted has nothing in progress any more when the one that preempted it is
//! answered. So what that one writes next is not overwritten.

use super::connection::CommandName;
use nvme::target::{Answer, HostId, ReservationAnswer};
use nvme::wire::StatusCode;
use std::collections::{BTreeMap, BTreeSet};

/// An answer that waits.
#[derive(Debug)]
struct Held {
    name: CommandName,
    answer: Answer,
    ends_first: BTreeSet<CommandName>,
    /// Which order to keep the state has to be over.
    order: u64,
}

/// What is in progress under a reservation, and what waits for it.
#[derive(Debug, Default)]
pub(super) struct Fence {
    /// Commands that read or write, and their hosts. Those from before the reservation are not
    /// among them.
    begun: BTreeMap<CommandName, HostId>,
    held: Vec<Held>,
    /// Orders to keep the state that were given.
    ordered: u64,
    /// Orders to keep the state that are carried out.
    kept: u64,
}

impl Fence {
    /// A command begins.
    pub(super) fn begin(&mut self, name: CommandName, host: HostId) {
        self.begun.insert(name, host);
    }

    /// A command has ended.
    pub(super) fn end(&mut self, name: CommandName) {
        if self.begun.remove(&name).is_some() {
            for held in &mut self.held {
                held.ends_first.remove(&name);
            }
        }
    }

    /// A reservation command is answered so when all that it waits for is over.
    pub(super) fn hold(&mut self, name: CommandName, answer: ReservationAnswer) {
        let ReservationAnswer { answer, ends_first, keep } = answer;
        let is_meant = |host: &HostId| ends_first.contains(host);
        let begun = self.begun.iter().filter(|(_, host)| is_meant(host));
        let ends_first = begun.map(|(name, _)| *name).collect();
        self.ordered += u64::from(keep);
        let order = if keep { self.ordered } else { 0 };
        self.held.push(Held { name, answer, ends_first, order });
    }

    /// The oldest order to keep the state is over.
    pub(super) fn handle_kept(&mut self, is_kept: bool) {
        self.kept += 1;
        for held in self.held.iter_mut().filter(|held| held.order == self.kept && !is_kept) {
            held.answer = Answer::new(StatusCode::Internal.for_now());
        }
    }

    /// The next answer that waits for nothing any more.
    pub(super) fn poll(&mut self) -> Option<(CommandName, Answer)> {
        let is_due = |held: &Held| held.ends_first.is_empty() && held.order <= self.kept;
        let position = self.held.iter().position(is_due)?;
        let held = self.held.remove(position);
        Some((held.name, held.answer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvme_tcp::connection::ConnectionId;
    use nvme::target::Slot;
    use nvme::wire::StatusField;

    fn name(index: u32) -> CommandName {
        let connection = ConnectionId { index, generation: 0 };
        CommandName { connection, slot: Slot::default() }
    }

    fn answer(ends_first: &[u8], keep: bool) -> ReservationAnswer {
        let ends_first = ends_first.iter().map(|&host| [host; 16]).collect();
        ReservationAnswer { answer: Answer::new(StatusField::SUCCESS), ends_first, keep }
    }

    #[test]
    fn a_preemption_waits_for_what_its_victims_began() {
        let mut fence = Fence::default();
        fence.begin(name(1), [1; 16]);
        fence.begin(name(2), [2; 16]);
        fence.begin(name(3), [1; 16]);
        fence.hold(name(9), answer(&[1], false));
        fence.begin(name(4), [2; 16]);
        for other in [2, 1, 4] {
            fence.end(name(other));
            assert_eq!(fence.poll(), None, "after {other}");
        }
        fence.end(name(3));
        assert_eq!(fence.poll(), Some((name(9), Answer::new(StatusField::SUCCESS))));
        fence.hold(name(8), answer(&[1], false));
        assert!(fence.poll().is_some(), "nothing of theirs is left");
    }

    #[test]
    fn what_is_to_be_kept_is_answered_in_order_and_with_its_error() {
        let mut fence = Fence::default();
        fence.hold(name(1), answer(&[], true));
        fence.hold(name(2), answer(&[], false));
        fence.hold(name(3), answer(&[], true));
        assert_eq!(fence.poll().map(|(name, _)| name), Some(name(2)), "it changes nothing");
        assert_eq!(fence.poll(), None);
        fence.handle_kept(false);
        let failed = Answer::new(StatusCode::Internal.for_now());
        assert_eq!(fence.poll(), Some((name(1), failed)));
        assert_eq!(fence.poll(), None);
        fence.handle_kept(true);
        assert_eq!(fence.poll(), Some((name(3), Answer::new(StatusField::SUCCESS))));
    }
}
