//! Predictable latency mode of the NVM Set: features 13h and 14h, and the events of its windows.

use super::config::Namespace;
use super::drive::{DriveReport, WindowOrder};
use crate::ArrayDescription;
use crate::WindowScope;
use crate::wire::ioda::{ArraySettings, IodaCapability, WindowReport};
use crate::wire::{
    StatusCode, StatusField, WINDOW_CONFIG_BYTES, WindowConfig, WindowLog, WindowState,
    window_event,
};
use units::{Duration, Instant};

/// The settings of the NVM Set, which all controllers share.
#[derive(Debug, Default)]
pub(super) struct SetWindows {
    enabled: bool,
    config: WindowConfig,
    /// Controller over which the block of IODA was set.
    owner: Option<u16>,
    /// Events since a host read log page 0Ah.
    happened: u16,
}

impl SetWindows {
    pub(super) const fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Whether log page 0Bh lists the set.
    pub(super) const fn has_event(&self) -> bool {
        self.happened != 0
    }

    /// Set Features 13h.
    ///
    /// # Errors
    ///
    /// If the settings are refused, with the status of the answer. Nothing is changed then.
    pub(super) fn configure(
        &mut self,
        controller: u16,
        enable: bool,
        data: &[u8; WINDOW_CONFIG_BYTES],
        capability: IodaCapability,
        drive: &DriveReport,
    ) -> Result<WindowOrder, StatusField> {
        let invalid = StatusCode::InvalidField.for_good();
        let config = WindowConfig::decode(data).map_err(|_| invalid)?;
        if config.events & !window_event::ALL != 0 {
            return Err(invalid);
        }
        if let Some(settings) = &config.ioda {
            let is_long_enough = settings.busy_time_window.is_none_or(|window| {
                window.as_nanos() >= (drive.advertised.shortest + settings.guard * 2).as_nanos()
            });
            let has_scope = settings.scope == WindowScope::Collections || capability.all_work;
            if !is_long_enough || !has_scope {
                return Err(invalid);
            }
        }
        (self.config, self.enabled) = (config, enable);
        self.owner = config.ioda.map(|_| controller);
        self.happened &= config.events;
        Ok(WindowOrder { config, enabled: enable })
    }

    /// Forgets the block of IODA that was set over a controller that was reset or has ended.
    /// Returns the new order if that changes anything.
    pub(super) fn forget(&mut self, controller: u16) -> Option<WindowOrder> {
        if self.owner != Some(controller) {
            return None;
        }
        *self = Self::default();
        Some(WindowOrder { config: self.config, enabled: self.enabled })
    }

    /// Set Features 14h.
    ///
    /// # Errors
    ///
    /// If there are no windows, if the array sets the windows, or if `window` is not a window.
    pub(super) fn select(&self, window: WindowState) -> Result<WindowState, StatusField> {
        if !self.enabled || self.config.ioda.is_some() {
            return Err(StatusCode::CommandSequence.for_good());
        }
        match window {
            WindowState::Deterministic | WindowState::NonDeterministic => Ok(window),
            WindowState::Off | WindowState::Reserved(_) => Err(StatusCode::InvalidField.for_good()),
        }
    }

    /// Records events of windows. Returns whether they are to be reported to hosts.
    pub(super) const fn happen(&mut self, events: u16) -> bool {
        let wanted = events & self.config.events;
        self.happened |= wanted;
        self.enabled && wanted != 0
    }

    /// Data of feature 13h. The block of IODA is included only for a host that has sent the magic
    /// word.
    pub(super) fn config(&self, knows_ioda: bool) -> WindowConfig {
        let ioda = self.config.ioda.filter(|_| knows_ioda);
        WindowConfig { ioda, ..self.config }
    }

    /// Log page 0Ah. Without RAE, reading it clears the events.
    pub(super) fn log(&mut self, knows_ioda: bool, retain: bool, drive: &DriveReport) -> WindowLog {
        let events = self.happened;
        if !retain {
            self.happened = 0;
        }
        WindowLog {
            state: self.state(drive),
            events,
            typicals: drive.typicals,
            estimates: drive.estimates,
            ioda: knows_ioda.then(|| self.report(drive)),
        }
    }

    /// Window that the set is in.
    pub(super) fn state(&self, drive: &DriveReport) -> WindowState {
        if self.enabled { drive.state } else { WindowState::Off }
    }

    fn report(&self, drive: &DriveReport) -> WindowReport {
        let settings = self.config.ioda;
        let nothing = ArrayDescription { width: 0, parities: 0 };
        WindowReport {
            array: settings.as_ref().map_or(nothing, ArraySettings::array),
            slot: settings.map_or(0, |settings| settings.slot),
            scope: settings.map_or(WindowScope::Collections, |settings| settings.scope),
            busy_time_window: drive.busy_time_window,
            cycle_start: settings.map_or(Instant::ZERO, |settings| settings.cycle_start),
            guard: settings.map_or(Duration::ZERO, |settings| settings.guard),
            now: drive.clock,
            advertised: drive.advertised,
            activity: drive.activity,
        }
    }
}

/// Checks that a command names the one NVM Set.
pub(super) fn check_set(nvm_set: u16) -> Result<(), StatusField> {
    if nvm_set == Namespace::NVM_SET { Ok(()) } else { Err(StatusCode::InvalidField.for_good()) }
}
