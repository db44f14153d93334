//! CC and CSTS: enabling a controller, and shutting it down.

use crate::wire::{
    Capabilities, Configuration, ControllerStatus, Property, PropertyGet, PropertySet,
    PropertySize, ShutdownNotice, ShutdownState, StatusCode, StatusField, Version,
};

/// Meaning of a write to CC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::target) enum Change {
    /// No change outside of the registers.
    Nothing,
    /// EN went from 0 to 1.
    Enabled,
    /// EN went from 1 to 0.
    Reset,
    /// SHN requests a shutdown.
    ShutDown { abrupt: bool },
}

// Entries of 64 and 16 bytes.
const SUBMISSION_SHIFT: u8 = 6;
const COMPLETION_SHIFT: u8 = 4;

/// The properties of a controller.
#[derive(Debug)]
pub(in crate::target) struct Registers {
    capabilities: Capabilities,
    configuration: Configuration,
    status: ControllerStatus,
}

impl Registers {
    pub(super) fn new(capabilities: Capabilities) -> Self {
        let configuration = Configuration::default();
        Self { capabilities, configuration, status: ControllerStatus::default() }
    }

    pub(super) const fn is_ready(&self) -> bool {
        self.status.ready
    }

    /// Records that a requested shutdown is over.
    pub(super) fn set_shut_down(&mut self) {
        if self.status.shutdown == ShutdownState::Running {
            self.status.shutdown = ShutdownState::Complete;
        }
    }

    pub(super) fn get(&self, get: &PropertyGet) -> Result<u64, StatusField> {
        if get.size != get.property.size() {
            return Err(StatusCode::InvalidField.for_good());
        }
        match get.property {
            Property::Capabilities => Ok(self.capabilities.encode()),
            Property::Version => Ok(Version::V1_4.encode().into()),
            Property::Configuration => Ok(self.configuration.encode().into()),
            Property::Status => Ok(self.status.encode().into()),
            Property::SubsystemReset | Property::ReadyTimeouts | Property::Other(_) => {
                Err(StatusCode::InvalidField.for_good())
            }
        }
    }

    pub(super) fn set(&mut self, set: &PropertySet) -> Result<Change, StatusField> {
        if set.property != Property::Configuration || set.size != PropertySize::Four {
            return Err(StatusCode::InvalidField.for_good());
        }
        let old = self.configuration;
        let new = Configuration::decode(set.value as u32);
        self.configuration = new;
        // A reset is over at once, and ends everything that was in progress.
        if old.enable && !new.enable {
            self.status = ControllerStatus::default();
            return Ok(Change::Reset);
        }
        if !old.enable && new.enable {
            return Ok(self.enable(&new));
        }
        if old.shutdown != new.shutdown {
            return Ok(self.shut_down(new.shutdown));
        }
        Ok(Change::Nothing)
    }

    fn enable(&mut self, new: &Configuration) -> Change {
        let is_supported = new.submission_entry == SUBMISSION_SHIFT
            && new.completion_entry == COMPLETION_SHIFT
            && (new.command_set, new.page, new.arbitration) == (0, 0, 0);
        self.status = ControllerStatus {
            ready: is_supported,
            fatal: !is_supported,
            ..ControllerStatus::default()
        };
        if is_supported { Change::Enabled } else { Change::Nothing }
    }

    fn shut_down(&mut self, notice: ShutdownNotice) -> Change {
        match notice {
            ShutdownNotice::None | ShutdownNotice::Reserved => Change::Nothing,
            ShutdownNotice::Normal | ShutdownNotice::Abrupt => {
                self.status.shutdown = ShutdownState::Running;
                Change::ShutDown { abrupt: notice == ShutdownNotice::Abrupt }
            }
        }
    }
}
