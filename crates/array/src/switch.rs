//! Going on under another policy, while nothing is under way.

use crate::action::Action;
use crate::coordinate::{Coordination, Coordinator};
use crate::engine::Array;
use crate::hedge::Hedges;
use crate::placement::Placement;
use crate::policy::{PolicyKind, PolicySettings, PolicySetup, WindowUse};
use crate::stage::Stage;
use alloc::boxed::Box;
use core::fmt;
use nvme::CollectionRight;
use units::{DriveId, Instant};

/// Why the policy cannot be changed now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CannotSwitch {
    /// Stripe operations are under way, of requests or to restore.
    Busy {
        /// How many.
        operations: usize,
    },
    /// The policy holds requests back.
    HeldBack {
        /// How many.
        requests: usize,
    },
    /// Pages wait in the stage for their drives.
    Staged {
        /// How many.
        pages: u64,
    },
    /// The policy cannot work with this level.
    Impossible {
        /// The policy.
        policy: &'static str,
        /// The level.
        level: &'static str,
    },
}

impl fmt::Display for CannotSwitch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy { operations } => {
                write!(f, "the policy can be changed when {operations} operations have ended")
            }
            Self::HeldBack { requests } => write!(
                f,
                "the policy holds back {requests} requests; it can be changed when it has let them go"
            ),
            Self::Staged { pages } => write!(
                f,
                "the policy can be changed when {pages} pages have been written from the stage to their drives"
            ),
            Self::Impossible { policy, level } => {
                write!(f, "policy {policy} needs redundancy of another kind than {level} has")
            }
        }
    }
}

impl core::error::Error for CannotSwitch {}

impl Array {
    /// Makes ready for another policy: from now on the stage takes nothing in and drains as fast as the
    /// drives take it, and no further stripe is restored. Requests go on being served. Ends with
    /// [`Array::set_policy`] or [`Array::stay_with_policy`].
    pub fn prepare_to_switch(&mut self, now: Instant) {
        self.health.restoration.paused = true;
        if let Some(stage) = &mut self.stage {
            stage.set_closed(true);
            self.drain(now);
        }
    }

    /// Takes [`Array::prepare_to_switch`] back.
    pub fn stay_with_policy(&mut self, now: Instant) {
        self.health.restoration.paused = false;
        if let Some(stage) = &mut self.stage {
            stage.set_closed(false);
        }
        self.pump_restoration(now);
    }

    /// Goes on under another policy. Every drive hears anew when it may collect; windows begin now.
    /// Chunks that have moved stay where they are. What is counted goes on.
    ///
    /// # Errors
    ///
    /// If anything is under way (see [`Array::prepare_to_switch`]) or the policy does not suit the
    /// level; nothing has changed then.
    pub fn set_policy(
        &mut self,
        now: Instant,
        policy: PolicyKind,
        settings: &PolicySettings,
        coordination: Coordination,
    ) -> Result<(), CannotSwitch> {
        self.handle_deadline(now);
        self.may_switch(policy)?;
        let about = policy.about();
        let width = self.layout.width();
        self.policy = (about.build)(&PolicySetup {
            drives: width,
            parities: self.layout.parities(),
            rebuild_compute: self.rebuild_compute,
            settings,
        });
        self.stage =
            self.policy.stage().map(|stage| Box::new(Stage::new(stage, width, self.page_bytes)));
        self.hedges = Hedges::new();
        if self.policy.moves_chunks()
            && self.layout.chunk_pages() == 1
            && !self.placement.can_move()
        {
            let spare_blocks = self.spare.end - self.spare.start;
            self.placement = Placement::new(&self.layout, self.spare.start, spare_blocks);
        }
        self.coordinate_anew(now, about.windows, coordination);
        self.stay_with_policy(now);
        Ok(())
    }

    fn may_switch(&self, policy: PolicyKind) -> Result<(), CannotSwitch> {
        let level = self.layout.level();
        if !policy.is_possible(level) {
            let (policy, level) = (policy.name(), level.name());
            return Err(CannotSwitch::Impossible { policy, level });
        }
        if self.held_back.len() > 0 {
            return Err(CannotSwitch::HeldBack { requests: self.held_back.len() });
        }
        if !self.ops.is_empty() {
            return Err(CannotSwitch::Busy { operations: self.ops.len() });
        }
        match &self.stage {
            Some(stage) if !stage.is_idle() => {
                Err(CannotSwitch::Staged { pages: stage.held_pages() })
            }
            _ => Ok(()),
        }
    }

    fn coordinate_anew(&mut self, now: Instant, windows: WindowUse, coordination: Coordination) {
        let coordination = match windows {
            WindowUse::None => Coordination::Free,
            _ => coordination.starting_at(now),
        };
        let width = self.layout.width();
        // What the drives were told under the policy before is void.
        self.actions
            .retain(|action| !matches!(action, Action::Permit { .. } | Action::AskStatus { .. }));
        self.permits = windows != WindowUse::Imagined;
        self.coordinator = Coordinator::new(&coordination, width, &mut self.actions);
        if !self.permits {
            self.actions.retain(|action| !matches!(action, Action::Permit { .. }));
        }
        if !self.permits || coordination == Coordination::Free {
            for drive in 0..width {
                let (drive, right) = (DriveId(drive as u8), CollectionRight::Always);
                self.actions.push_back(Action::Permit { drive, right });
            }
        }
    }
}
