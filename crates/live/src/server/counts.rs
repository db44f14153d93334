//! Messages between the policy and a coordinator on another host: traffic of windows goes to the
//! hosts, counts come from them.
//!
//! The target keeps the last windows, so nothing waits here for a host.

use super::array_io::ArrayIo;
use crate::nvme_tcp::Target;
use array::policy::CoordinatorState;
use nvme::WindowCounts;

/// State of the coordinator as the log has it.
#[derive(Debug, Default)]
pub(super) struct Counting {
    /// The last state that was logged; `None` without such a coordinator.
    state: Option<CoordinatorState>,
    /// Hosts were sent the beginning of this policy.
    is_known: bool,
}

impl Counting {
    /// Brings traffic from the policy to the hosts of `target`. To be called in every turn.
    pub(super) fn tell(&mut self, io: &mut ArrayIo, target: &mut Target) {
        if self.is_known && self.state.is_none() {
            return;
        }
        let mut messages = io.volume.engine_mut().correspondence();
        if !self.is_known {
            self.is_known = true;
            target.begin_traffic(messages.as_ref().map(|messages| messages.window()));
        }
        let Some(messages) = &mut messages else { return };
        while let Some(window) = messages.poll_traffic() {
            target.handle_traffic(window);
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
}

/// Brings counts of a host to the policy. Counts for a policy that is no more are dropped.
pub(super) fn set(io: &mut ArrayIo, counts: &WindowCounts) {
    if let Some(messages) = &mut io.volume.engine_mut().correspondence() {
        messages.set_counts(counts);
    }
}
