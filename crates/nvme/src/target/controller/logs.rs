//! Log pages of a drive.

use super::config::{Namespace, SubsystemConfig};
use super::drive::DriveReport;
use super::traffic::Traffic;
use super::windows::{SetWindows, check_set};
use crate::target::reservation::{Notices, Persistence};
use crate::target::transport::Answer;
use crate::wire::plm_light::TRAFFIC_LOG_BYTES;
use crate::wire::{
    AGGREGATE_HEAD_BYTES, COMMAND_EFFECTS_BYTES, CommandEffects, ERROR_ENTRY_BYTES, Excerpt,
    FABRICS, FIRMWARE_SLOTS, FIRMWARE_SLOTS_BYTES, FirmwareSlots, GetLogPage, HEALTH_BYTES,
    LogPage, RESERVATION_LOG_BYTES, StatusCode, StatusField, WINDOW_LOG_BYTES, effect,
    put_aggregate,
};

/// Opcodes that are supported; the last is that of fabrics commands.
const ADMIN: [u8; 8] = [0x02, 0x06, 0x08, 0x09, 0x0a, 0x0c, 0x18, FABRICS];
const READS: [u8; 2] = [0x00, 0x02];
const RESERVATIONS: [u8; 4] = [0x0d, 0x0e, 0x11, 0x15];
const WRITES: [u8; 3] = [0x01, 0x08, 0x09];

/// Copies the requested part of a page into the room of the host, and no more than the room.
///
/// # Errors
///
/// If the part begins behind the end of the page, or not at a dword.
pub(in crate::target) fn put_page(
    get: &GetLogPage,
    page_bytes: usize,
    into: &mut [u8],
    put: impl FnOnce(&mut Excerpt<'_>),
) -> Result<Answer, StatusField> {
    let offset_bytes = get.offset_bytes;
    if offset_bytes > page_bytes as u64 || !offset_bytes.is_multiple_of(4) {
        return Err(StatusCode::InvalidField.for_good());
    }
    let bytes = usize::try_from(get.bytes()).unwrap_or(usize::MAX).min(into.len());
    put(&mut Excerpt::new(offset_bytes, &mut into[..bytes]));
    Ok(Answer::with_data(bytes as u32))
}

/// Sources of log pages.
pub(super) struct Logs<'a> {
    pub(super) config: &'a SubsystemConfig,
    pub(super) windows: &'a mut SetWindows,
    pub(super) notices: &'a mut Notices,
    pub(super) traffic: &'a Traffic,
    pub(super) drive: &'a DriveReport,
    pub(super) knows_ioda: bool,
}

impl Logs<'_> {
    /// Get Log Page.
    ///
    /// # Errors
    ///
    /// If there is no such page, with the status of the answer.
    pub(super) fn get(&mut self, get: &GetLogPage, into: &mut [u8]) -> Result<Answer, StatusField> {
        let has_windows = self.config.ioda.is_some();
        match get.page {
            // Statuses report errors; the one entry is never used.
            LogPage::Errors => put_page(get, ERROR_ENTRY_BYTES, into, |_| {}),
            LogPage::Health => {
                let page = self.drive.health.encode();
                put_page(get, HEALTH_BYTES, into, |part| part.put(0, &page))
            }
            LogPage::Firmware => {
                let mut revisions = [None; FIRMWARE_SLOTS];
                revisions[0] = Some(self.config.firmware);
                let page = FirmwareSlots { active: 1, next: 0, revisions }.encode();
                put_page(get, FIRMWARE_SLOTS_BYTES, into, |part| part.put(0, &page))
            }
            LogPage::CommandEffects => {
                let page = effects(self.config.reservations).encode();
                put_page(get, COMMAND_EFFECTS_BYTES, into, |part| part.put(0, &page))
            }
            LogPage::Window if has_windows => {
                check_set(get.specific)?;
                let page = self.windows.log(self.knows_ioda, get.retain_event, self.drive).encode();
                put_page(get, WINDOW_LOG_BYTES, into, |part| part.put(0, &page))
            }
            LogPage::WindowAggregate if has_windows => {
                let set = self.windows.has_event().then_some(Namespace::NVM_SET);
                let page_bytes = AGGREGATE_HEAD_BYTES + 2 * usize::from(set.is_some());
                put_page(get, page_bytes, into, |part| put_aggregate(set, part))
            }
            LogPage::Reservation if self.config.reservations != Persistence::Absent => {
                let page = self.notices.page(get.retain_event, Namespace::ID).encode();
                put_page(get, RESERVATION_LOG_BYTES, into, |part| part.put(0, &page))
            }
            LogPage::Traffic => {
                let page = self.traffic.page()?.encode();
                put_page(get, TRAFFIC_LOG_BYTES, into, |part| part.put(0, &page))
            }
            LogPage::Window
            | LogPage::WindowAggregate
            | LogPage::Discovery
            | LogPage::Reservation
            | LogPage::Other(_) => Err(StatusCode::InvalidLogPage.for_good()),
        }
    }
}

fn effects(reservations: Persistence) -> CommandEffects {
    let mut effects = CommandEffects::NONE;
    for opcode in ADMIN {
        effects.admin[usize::from(opcode)] = effect::SUPPORTED;
    }
    for opcode in READS {
        effects.io[usize::from(opcode)] = effect::SUPPORTED;
    }
    for opcode in WRITES {
        effects.io[usize::from(opcode)] = effect::SUPPORTED | effect::CHANGES_DATA;
    }
    if reservations != Persistence::Absent {
        for opcode in RESERVATIONS {
            effects.io[usize::from(opcode)] = effect::SUPPORTED;
        }
    }
    effects
}
