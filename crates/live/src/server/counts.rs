//! Messages between the policy and a coordinator on another host: traffic of windows goes to the
//! hosts, counts come from them.
//!
//! The target keeps the last windows, so nothing waits here for a host.

use super::array_io::ArrayIo;
use super::hosts::Hosts;
use array::policy::CoordinatorState;
use nvme::WindowCounts;

/// State of the coordinator as the log has it.
#[derive(Debug, Default)]
pub(super) struct Counting {
    /// The last state that was logged; `None` without such a coordinator.
    state: Option<CoordinatorState>,
    /// Whether hosts know that this policy has begun.
    is_known: bool,
}

impl Counting {
    /// Another policy begins.
    pub(super) fn begin(&mut self) {
        *self = Self::default();
    }

    /// Brings traffic from the policy to the hosts. To be called in every turn.
    pub(super) fn look(&mut self, io: &mut ArrayIo, hosts: &mut Hosts) {
        if self.is_known && self.state.is_none() {
            return;
        }
        let mut messages = io.volume.engine_mut().correspondence();
        if !self.is_known {
            self.is_known = true;
            hosts.begin_traffic(messages.as_ref().map(|messages| messages.window()));
        }
        let Some(messages) = &mut messages else { return };
        while let Some(window) = messages.poll_traffic() {
            hosts.tell_traffic(window);
        }
        let state = messages.state();
        if self.state.replace(state) != Some(state) {
            match state {
                CoordinatorState::Awaited => tracing::info!(
                    "PLM-light waits for its coordinator (ioda plmlc): reads have no limit until it sets counts"
                ),
                CoordinatorState::Heard => {
                    tracing::info!("the coordinator of PLM-light sets the counts");
                }
                CoordinatorState::Silent => tracing::warn!(
                    "nothing was heard of the coordinator of PLM-light: reads have no limit until it sets counts"
                ),
            }
        }
    }

    /// A host has set counts.
    pub(super) fn set(&mut self, io: &mut ArrayIo, counts: &WindowCounts) {
        // Counts of a policy that is no more are dropped.
        if let Some(messages) = &mut io.volume.engine_mut().correspondence() {
            messages.set_counts(counts);
        }
    }
}
