//! Drives in configuration files: a preset or a data sheet with changes, or everything spelt out.

use crate::failure::Failure;
use crate::settings::cells::CellSettings;
use crate::settings::data_sheet::DataSheetSettings;
use crate::settings::idle;
use crate::settings::retry::RetrySettings;
use crate::settings::slc::SlcSettings;
use crate::settings::watermarks::in_proportion;
use crate::values::names::Unknown;
use crate::values::quantity::{
    Bandwidth, BufferSize, Percent, ScrubAfter, Size, Span, Text, exact_duration, exact_percent,
    exact_size,
};
use crate::values::words::{
    Allocates, Blocks, Flush, Placement, Preempts, Queues, Rotating, Suspends, Trigger, Unit,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::{
    Arbitration, Config, PulseConfig, QueueConfig, RainConfig, ScrubConfig, Suspendable,
    SuspensionConfig, TurnConfig, WriteBufferConfig,
};
use std::collections::BTreeMap;
use std::str::FromStr;
use units::{Duration, Ratio};

/// The drive that is used unless another is named.
pub(super) const DEFAULT_DRIVE: &str = "femu-artifact";

/// The drives: `[drive]`. Whatever is left out is as in `base` or as the data sheet has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DriveSettings {
    /// The preset to start from.
    pub base: Option<String>,
    /// Figures of a data sheet to make the drive from, in the place of `base`. The other keys
    /// change what is made; `over_provisioning` then changes the flash and keeps the capacity.
    pub data_sheet: Option<DataSheetSettings>,
    /// How the drive is called in reports.
    pub name: Option<String>,
    /// Whether the drive is on sale: reports mark policies that need firmware which it lacks.
    pub on_sale: Option<bool>,
    /// Factor by which blocks of the real drive have more pages and longer erases; 1 for a drive
    /// that is simulated whole.
    pub scaled_down: Option<u32>,
    /// Channels.
    pub channels: Option<u32>,
    /// Chips on each channel.
    pub chips_per_channel: Option<u32>,
    /// Planes in a chip.
    pub planes_per_chip: Option<u32>,
    /// Blocks in a plane.
    pub blocks_per_plane: Option<u32>,
    /// Pages in a block.
    pub pages_per_block: Option<u32>,
    /// Size of a page.
    pub page_bytes: Option<Text<Size>>,
    /// t_r.
    pub read: Option<Text<Span>>,
    /// t_w.
    pub program: Option<Text<Span>>,
    /// t_e.
    pub erase: Option<Text<Span>>,
    /// Blocks of a die that one operation erases, 1 to 1024: with N, each Nth erase takes N times
    /// t_e, and the others no time [default: 1].
    pub blocks_per_erase: Option<u32>,
    /// t_cpt.
    pub transfer: Option<Text<Span>>,
    /// B_pcie, or `none`.
    pub pcie_bytes_per_second: Option<Text<Bandwidth>>,
    /// From the arrival of a command to its fast failure.
    pub fail_fast: Option<Text<Span>>,
    /// Step to which the busy remaining time that a fast failure announces is rounded up (IODA
    /// §7.3); 0 for the exact time [default: 0].
    pub busy_time_step: Option<Text<Span>>,
    /// R_p.
    pub over_provisioning: Option<Text<Percent>>,
    /// What the controller and its firmware add to a read of flash.
    pub read_overhead: Option<Text<Span>>,
    /// Time of a command on the link to the host besides its data: the inverse of the most commands
    /// per second.
    pub command_time: Option<Text<Span>>,
    /// Time for which the firmware takes in a write, one after the other.
    pub write_command_time: Option<Text<Span>>,
    /// Pages that share cells and planes, if many are programmed at a time.
    pub cells: Option<CellSettings>,
    /// Blocks that are programmed with one bit in a cell first, if the drive has such a cache.
    pub slc_cache: Option<SlcSettings>,
    /// What is collected at a time: block or line.
    pub collection_unit: Option<Text<Unit>>,
    /// What a collection blocks: controller, channel, channel-for-copies (its erase blocks its die
    /// only) or die.
    pub blocking: Option<Text<Blocks>>,
    /// What lets the drive look whether a collection is due: free-space or host-command.
    pub collection_trigger: Option<Text<Trigger>>,
    /// Soft watermark: share of free blocks at which collection may start.
    pub soft: Option<Text<Percent>>,
    /// Share of free blocks up to which a busy window collects [default: as in `base`, or soft if
    /// that is given].
    pub restore: Option<Text<Percent>>,
    /// Hard watermark: share of free blocks at which host writes stall.
    pub hard: Option<Text<Percent>>,
    /// Collection copies pages within their die, without the channel.
    pub copyback: Option<bool>,
    /// Least invalid share of a victim above the hard watermark.
    pub min_invalid: Option<Text<Percent>>,
    /// Collections on one channel at once; 0 for any number.
    pub collections_per_channel: Option<u32>,
    /// Erases that each free block of a die (or each free line) has more than the block of cold
    /// data before these move to the most worn free block; 0 for never [default: 0].
    pub static_wear_leveling: Option<u32>,
    /// Reads are served before the writes that wait with them.
    pub read_priority: Option<bool>,
    /// The host is served between the page operations of a collection.
    pub preemptive_collection: Option<bool>,
    /// Programs of the host take turns with a collection in proportion to what it gives back; for
    /// drives with cells.
    pub paced_writes: Option<bool>,
    /// Most pages that each die moves for collections before programs of the host get their turn; 0
    /// if each die takes turns by itself, one program at a time. For drives with paced writes.
    pub turn_pages: Option<u32>,
    /// Least of these pages, from 1 to `turn_pages`, which is the default. A turn of the host that
    /// ends while writes wait for room in the buffer halves the turn of collections after it; one
    /// that ends otherwise makes it longer by a quarter.
    pub least_turn_pages: Option<u32>,
    /// While writes wait for room in the buffer, reads neither overtake nor suspend programs.
    pub in_order_when_full: Option<bool>,
    /// Whose commands those are: what waits for its die, or for any die of its channel (die or
    /// channel).
    pub preemption_scope: Option<Text<Preempts>>,
    /// Most suspensions for reads of one program, or of one erase without `erase_pulse`; 0 for none.
    pub suspensions: Option<u32>,
    /// What is suspended: everything, programs only, or programs and erases of a collection only
    /// [default: everything].
    pub suspends: Option<Text<Suspends>>,
    /// Time to suspend a program, and again to resume it [default: 10us].
    pub suspend_program: Option<Text<Span>>,
    /// Time to suspend an erase, and again to resume it [default: 100us].
    pub suspend_erase: Option<Text<Span>>,
    /// Length of a pulse of a program, at whose end it can be suspended; 0 for at any time
    /// [default: 0].
    pub program_pulse: Option<Text<Span>>,
    /// Length of a pulse of an erase, at whose end it can be suspended; 0 for at any time
    /// [default: 0].
    pub erase_pulse: Option<Text<Span>>,
    /// Least time for which a die goes on between two suspensions [default: 0].
    pub suspensions_apart: Option<Text<Span>>,
    /// Commands that the drive works on at a time; 0 for as many as come.
    pub queue_depth: Option<u32>,
    /// Which of the commands that wait for that comes next: one-queue, or with queues of reads and
    /// of writes round-robin, or their weights such as 4:1.
    pub queue_arbitration: Option<Text<Queues>>,
    /// How often pages are sensed again.
    pub read_retry: Option<RetrySettings>,
    /// Idle time after which a die checks what was copied past error correction, or `none`.
    pub scrub_after: Option<Text<ScrubAfter>>,
    /// Which die a page goes to without RAIN: next-die, or static by its number.
    pub allocation: Option<Text<Allocates>>,
    /// Ranges of logical blocks with dies of their own.
    pub lba_ranges: Option<u32>,
    /// What a range has of its own: channels or chips.
    pub lba_range_placement: Option<Text<Placement>>,
    /// R_v: expected share of valid pages in a victim.
    pub valid_ratio: Option<Text<Percent>>,
    /// B_burst.
    pub burst_bytes_per_second: Option<f64>,
    /// N_dwpd.
    pub drive_writes_per_day: Option<f64>,
    /// Share of the over-provisioned space that may fill in one cycle.
    pub usable_share: Option<Text<Percent>>,
    /// Capacity of the write buffer, or `none`.
    pub write_buffer: Option<Text<BufferSize>>,
    /// When it is flushed: when-full or in-window.
    pub flush: Option<Text<Flush>>,
    /// Time to acknowledge a write that is in the buffer, or to read a page from it.
    pub buffer_latency: Option<Text<Span>>,
    /// Share of the buffer in use at which a free-running flush starts.
    pub flush_high: Option<Text<Percent>>,
    /// Dirty share of the buffer at which it stops.
    pub flush_low: Option<Text<Percent>>,
    /// Share of the buffer in use at which a full buffer takes in writes again; 100% for as soon as
    /// one page is free [default: 100%].
    pub buffer_reopens: Option<Text<Percent>>,
    /// Pages of a RAIN stripe within the drive, parity included; 0 for no RAIN.
    pub rain: Option<u32>,
    /// Pages on a die that collects are computed from the rest of their stripe [default: true].
    pub tolerant_reads: Option<bool>,
    /// They are, whatever the reads of the rest cost others (TTFLASH §4.3) [default: false].
    pub greedy_reads: Option<bool>,
    /// The dies of a plane group collect in turns: off, on or forced [default: on].
    pub rotating_collection: Option<Text<Rotating>>,
    /// Time to compute a page from the rest of its stripe [default: 3us].
    pub xor: Option<Text<Span>>,
    /// A stripe moves away from a die that has so many more erases; 0 for never [default: 0].
    pub wear_leveling: Option<u32>,
}

fn put<T: Copy>(field: &mut T, setting: Option<T>) {
    if let Some(value) = setting {
        *field = value;
    }
}

fn value<T: Copy>(setting: &Option<Text<T>>) -> Option<T> {
    setting.as_ref().map(|text| text.value)
}

/// A text that was written to be read back.
fn text<T: FromStr>(exact: &str) -> Option<Text<T>> {
    exact.parse().ok()
}

impl DriveSettings {
    /// These settings as a configuration file with a drive and nothing else.
    ///
    /// # Errors
    ///
    /// If a value has no place in TOML, which is a bug.
    pub fn to_file(&self) -> Result<String, Failure> {
        let file = BTreeMap::from([("drive", self)]);
        toml::to_string(&file)
            .map_err(|error| Failure::internal(format!("cannot write the drive: {error}")))
    }

    /// The preset called `name`, unchanged.
    pub fn preset(name: &str) -> Self {
        Self { base: Some(name.to_owned()), ..Self::default() }
    }

    /// Everything about `config`, spelt out.
    pub fn full(config: &Config) -> Self {
        let Config { name, geometry: g, timing: t, over_provisioning, collection: c, .. } = config;
        let Config { contract, write_buffer, ranges, scheduling, rain, scrub, .. } = config;
        let capacity = |buffer: &WriteBufferConfig| {
            exact_size(u64::from(buffer.pages) * u64::from(g.page_bytes))
        };
        let buffer = write_buffer.as_ref();
        let pulse = |length: fn(PulseConfig) -> Duration| {
            let length = length(scheduling.suspension?.pulses);
            (!length.is_zero()).then(|| text(&exact_duration(length)))?
        };
        // Drives with cells have times there.
        let pages = config.cells.is_none().then_some(t);
        Self {
            base: None,
            data_sheet: None,
            name: Some(name.clone()),
            on_sale: contract.is_assumed.then_some(true),
            scaled_down: (g.scaled_down > 1).then_some(g.scaled_down),
            channels: Some(g.channels),
            chips_per_channel: Some(g.chips_per_channel),
            planes_per_chip: Some(g.planes_per_chip),
            blocks_per_plane: Some(g.blocks_per_plane),
            pages_per_block: Some(g.pages_per_block),
            page_bytes: text(&exact_size(u64::from(g.page_bytes))),
            read: pages.and_then(|t| text(&exact_duration(t.read))),
            program: pages.and_then(|t| text(&exact_duration(t.program))),
            erase: text(&exact_duration(t.erase)),
            blocks_per_erase: (t.blocks_per_erase > 1).then_some(t.blocks_per_erase),
            transfer: text(&exact_duration(t.transfer)),
            pcie_bytes_per_second: text(
                &t.pcie_bytes_per_second.map_or("none".to_owned(), |bytes| bytes.to_string()),
            ),
            fail_fast: text(&exact_duration(t.fail_fast)),
            busy_time_step: match t.busy_time_step {
                Duration::ZERO => None,
                step => text(&exact_duration(step)),
            },
            read_overhead: text(&exact_duration(t.read_overhead)),
            command_time: text(&exact_duration(t.command)),
            write_command_time: match t.write_command {
                Duration::ZERO => None,
                length => text(&exact_duration(length)),
            },
            cells: config.cells.as_ref().map(CellSettings::full),
            slc_cache: config.cells.and_then(|cells| cells.slc).as_ref().map(SlcSettings::full),
            over_provisioning: text(&exact_percent(*over_provisioning)),
            collection_unit: text(&Unit(c.unit).to_string()),
            blocking: text(&Blocks(c.blocking).to_string()),
            collection_trigger: text(&Trigger(c.trigger).to_string()),
            soft: text(&exact_percent(c.soft)),
            restore: text(&exact_percent(c.restore)),
            hard: text(&exact_percent(c.hard)),
            copyback: Some(c.copyback),
            min_invalid: text(&exact_percent(c.min_invalid)),
            collections_per_channel: Some(c.per_channel),
            static_wear_leveling: (c.static_wear_leveling > 0).then_some(c.static_wear_leveling),
            read_priority: Some(scheduling.read_priority),
            preemptive_collection: Some(scheduling.preemptive_collection),
            paced_writes: Some(scheduling.paced_writes),
            turn_pages: scheduling.turns.map(|turns| turns.most_pages),
            least_turn_pages: scheduling.turns.map(|turns| turns.least_pages),
            in_order_when_full: scheduling.in_order_when_full.then_some(true),
            preemption_scope: text(&Preempts(scheduling.preemption_scope).to_string()),
            suspends: scheduling
                .suspension
                .and_then(|suspension| text(&Suspends(suspension.what).to_string())),
            suspensions: Some(scheduling.suspension.map_or(0, |suspension| suspension.most)),
            suspend_program: scheduling
                .suspension
                .and_then(|suspension| text(&exact_duration(suspension.program))),
            suspend_erase: scheduling
                .suspension
                .filter(|suspension| suspension.what != Suspendable::Programs)
                .and_then(|suspension| text(&exact_duration(suspension.erase))),
            program_pulse: pulse(|pulses| pulses.program),
            erase_pulse: pulse(|pulses| pulses.erase),
            suspensions_apart: pulse(|pulses| pulses.apart)
                .filter(|_| scheduling.suspension.is_some_and(|one| one.repeats())),
            queue_depth: Some(config.queue.map_or(0, |queue| queue.depth)),
            queue_arbitration: config
                .queue
                .and_then(|queue| text(&Queues(queue.arbitration).to_string())),
            read_retry: config.retry.as_ref().map(RetrySettings::full),
            scrub_after: text(
                &scrub.map_or("none".to_owned(), |scrub| exact_duration(scrub.after)),
            ),
            allocation: text(&Allocates(config.allocation).to_string()),
            lba_ranges: Some(ranges.count),
            lba_range_placement: text(&Placement(ranges.placement).to_string()),
            valid_ratio: text(&exact_percent(Ratio::from_f64(contract.valid_ratio))),
            burst_bytes_per_second: Some(contract.burst_bytes_per_second),
            drive_writes_per_day: Some(contract.drive_writes_per_day),
            usable_share: text(&exact_percent(Ratio::from_f64(contract.usable_share))),
            write_buffer: text(&buffer.map_or("none".to_owned(), capacity)),
            flush: buffer.and_then(|b| text(&Flush(b.flush).to_string())),
            buffer_latency: buffer.and_then(|b| text(&exact_duration(b.latency))),
            flush_high: buffer.and_then(|b| text(&exact_percent(b.high))),
            flush_low: buffer.and_then(|b| text(&exact_percent(b.low))),
            buffer_reopens: buffer
                .filter(|b| b.reopens != Ratio::ONE)
                .and_then(|b| text(&exact_percent(b.reopens))),
            rain: Some(rain.map_or(0, |rain| rain.width)),
            tolerant_reads: rain.map(|rain| rain.tolerant_reads),
            greedy_reads: rain.map(|rain| rain.greedy_reads),
            rotating_collection: rain.and_then(|rain| text(&Rotating(rain.rotation).to_string())),
            xor: rain.and_then(|rain| text(&exact_duration(rain.xor))),
            wear_leveling: rain.map(|rain| rain.wear_leveling.unwrap_or(0)),
        }
    }

    /// The drive that these settings describe.
    pub fn build(&self) -> Result<Config, Failure> {
        let mut config = self.beginning()?;
        let before = config.clone();
        let g = &mut config.geometry;
        put(&mut g.scaled_down, self.scaled_down);
        put(&mut g.channels, self.channels);
        put(&mut g.chips_per_channel, self.chips_per_channel);
        put(&mut g.planes_per_chip, self.planes_per_chip);
        put(&mut g.blocks_per_plane, self.blocks_per_plane);
        put(&mut g.pages_per_block, self.pages_per_block);
        let page = value(&self.page_bytes).map(|Size(bytes)| u32::try_from(bytes));
        put(&mut g.page_bytes, page.map(|bytes| bytes.unwrap_or(u32::MAX)));
        let t = &mut config.timing;
        let length = |setting| value(setting).map(|Span(duration)| duration);
        put(&mut t.read, length(&self.read));
        put(&mut t.program, length(&self.program));
        put(&mut t.erase, length(&self.erase));
        put(&mut t.blocks_per_erase, self.blocks_per_erase);
        put(&mut t.transfer, length(&self.transfer));
        put(&mut t.fail_fast, length(&self.fail_fast));
        put(&mut t.busy_time_step, length(&self.busy_time_step));
        put(&mut t.read_overhead, length(&self.read_overhead));
        put(&mut t.command, length(&self.command_time));
        put(&mut t.write_command, length(&self.write_command_time));
        if let Some(cells) = &self.cells {
            config.cells = cells.build(config.cells)?;
        }
        if let Some(cells) = &config.cells {
            (t.read, t.program) = (cells.mean_read(), cells.mean_program());
        }
        if let Some(slc) = &self.slc_cache {
            let Some(cells) = &mut config.cells else {
                return Err(Failure::usage(
                    "slc_cache is for drives with cells of several bits; describe them in [drive.cells], or \
                     leave out [drive.slc_cache]",
                ));
            };
            cells.slc = slc.build(cells.slc)?;
        }
        let pcie = value(&self.pcie_bytes_per_second).map(|Bandwidth(limit)| limit);
        put(&mut t.pcie_bytes_per_second, pcie);
        let share = |setting| value(setting).map(|Percent(ratio)| ratio);
        put(&mut config.over_provisioning, share(&self.over_provisioning));
        let c = &mut config.collection;
        put(&mut c.unit, value(&self.collection_unit).map(|Unit(unit)| unit));
        put(&mut c.blocking, value(&self.blocking).map(|Blocks(blocking)| blocking));
        put(&mut c.trigger, value(&self.collection_trigger).map(|Trigger(trigger)| trigger));
        let spare = (before.over_provisioning, config.over_provisioning);
        c.soft = share(&self.soft).unwrap_or(in_proportion(c.soft, spare));
        c.hard = share(&self.hard).unwrap_or(in_proportion(c.hard, spare));
        let restore = match &self.soft {
            Some(_) => c.soft,
            None => in_proportion(c.restore, spare),
        };
        c.restore = share(&self.restore).unwrap_or(restore);
        put(&mut c.copyback, self.copyback);
        put(&mut c.min_invalid, share(&self.min_invalid));
        put(&mut c.per_channel, self.collections_per_channel);
        put(&mut c.static_wear_leveling, self.static_wear_leveling);
        put(&mut config.scheduling.read_priority, self.read_priority);
        put(&mut config.scheduling.preemptive_collection, self.preemptive_collection);
        put(&mut config.scheduling.paced_writes, self.paced_writes);
        config.scheduling.turns = self.turns(config.scheduling.turns)?;
        put(&mut config.scheduling.in_order_when_full, self.in_order_when_full);
        let scope = value(&self.preemption_scope).map(|Preempts(scope)| scope);
        put(&mut config.scheduling.preemption_scope, scope);
        let allocation = value(&self.allocation).map(|Allocates(allocation)| allocation);
        put(&mut config.allocation, allocation);
        self.put_suspension(&mut config)?;
        config.queue = self.queue(config.queue)?;
        if let Some(retry) = &self.read_retry {
            config.retry = retry.build(config.retry);
        }
        let scrub = value(&self.scrub_after)
            .map(|ScrubAfter(after)| after.map(|after| ScrubConfig { after }));
        put(&mut config.scrub, scrub);
        put(&mut config.ranges.count, self.lba_ranges);
        let placement = value(&self.lba_range_placement).map(|Placement(placement)| placement);
        put(&mut config.ranges.placement, placement);
        let contract = &mut config.contract;
        put(&mut contract.valid_ratio, share(&self.valid_ratio).map(Ratio::as_f64));
        put(&mut contract.is_assumed, self.on_sale);
        put(&mut contract.burst_bytes_per_second, self.burst_bytes_per_second);
        put(&mut contract.drive_writes_per_day, self.drive_writes_per_day);
        put(&mut contract.usable_share, share(&self.usable_share).map(Ratio::as_f64));
        self.check_contract()?;
        config.write_buffer = self.buffer(&config)?;
        config.rain = self.rain_stripes(config.rain)?;
        idle::refuse(self, &config)?;
        let is_changed = config != before;
        match &self.name {
            Some(name) if is_changed || self.data_sheet.is_some() => config.name.clone_from(name),
            None if is_changed => config.name += ", changed",
            _ => {}
        }
        Ok(config)
    }

    /// The drive that the other keys change: a preset, or made from a data sheet.
    fn beginning(&self) -> Result<Config, Failure> {
        let Some(sheet) = &self.data_sheet else {
            let base = self.base.as_deref().unwrap_or(DEFAULT_DRIVE);
            return ssd::presets::preset(base)
                .ok_or_else(|| Failure::usage(Unknown::new("drive", base, ssd::presets::names())));
        };
        if let Some(base) = &self.base {
            return Err(Failure::usage(format!(
                "base is {base:?} beside [drive.data_sheet], but a drive begins with one of them; \
                 leave out base or that table"
            )));
        }
        // A share that stands beside the table keeps the capacity, so the blocks depend on it.
        let spare = value(&self.over_provisioning).map(|Percent(ratio)| ratio);
        let figures = sheet.figures(spare)?;
        ssd::presets::from_data_sheet(&figures)
            .map_err(|error| Failure::usage(format!("data sheet: {error}")))
    }

    /// The turns of collections and the host, of a drive that had `base`.
    fn turns(&self, base: Option<TurnConfig>) -> Result<Option<TurnConfig>, Failure> {
        let most_pages = self.turn_pages.or(base.map(|turns| turns.most_pages)).unwrap_or(0);
        if most_pages == 0 {
            return match self.least_turn_pages {
                None => Ok(None),
                Some(_) => Err(Failure::usage(
                    "least_turn_pages is the least of turn_pages, which is 0; set turn_pages, or leave out least_turn_pages",
                )),
            };
        }
        // The least of the base belongs to the turns of the base.
        let base = base.filter(|_| self.turn_pages.is_none());
        let least = self.least_turn_pages.or(base.map(|turns| turns.least_pages));
        Ok(Some(TurnConfig { most_pages, least_pages: least.unwrap_or(most_pages) }))
    }

    /// The slots for commands, of a drive that had `base`.
    fn queue(&self, base: Option<QueueConfig>) -> Result<Option<QueueConfig>, Failure> {
        let depth = self.queue_depth.or(base.map(|queue| queue.depth)).unwrap_or(0);
        let given = value(&self.queue_arbitration).map(|Queues(arbitration)| arbitration);
        if depth == 0 {
            return match given {
                None | Some(Arbitration::OneQueue) => Ok(None),
                Some(_) => Err(Failure::usage(
                    "queue_arbitration chooses among commands that wait for a slot, but queue_depth is 0, \
                     so that none waits; set queue_depth",
                )),
            };
        }
        let before = base.map_or(Arbitration::OneQueue, |queue| queue.arbitration);
        Ok(Some(QueueConfig { depth, arbitration: given.unwrap_or(before) }))
    }

    /// The write buffer of the drive that is otherwise `config`.
    fn buffer(&self, config: &Config) -> Result<Option<WriteBufferConfig>, Failure> {
        let page = u64::from(config.geometry.page_bytes);
        let mut buffer = match value(&self.write_buffer) {
            None => config.write_buffer,
            Some(BufferSize(None)) => None,
            Some(BufferSize(Some(bytes))) => {
                if page == 0 || !bytes.is_multiple_of(page) {
                    return Err(Failure::usage(format!(
                        "a write buffer of {bytes} bytes is not a multiple of the drive's page of \
                         {page} bytes; choose such a multiple"
                    )));
                }
                // A larger one would hold more than the drive.
                let raw_bytes = config.geometry.raw_bytes();
                match u32::try_from(bytes / page) {
                    Ok(pages) if bytes <= raw_bytes => Some(WriteBufferConfig::new(pages)),
                    _ => {
                        return Err(Failure::usage(format!(
                            "write_buffer is {bytes} bytes; it must be {page} to {raw_bytes}, the size of \
                             the drive's flash"
                        )));
                    }
                }
            }
        };
        if let Some(buffer) = &mut buffer {
            put(&mut buffer.flush, value(&self.flush).map(|Flush(rule)| rule));
            put(&mut buffer.latency, value(&self.buffer_latency).map(|Span(length)| length));
            put(&mut buffer.high, value(&self.flush_high).map(|Percent(share)| share));
            put(&mut buffer.low, value(&self.flush_low).map(|Percent(share)| share));
            put(&mut buffer.reopens, value(&self.buffer_reopens).map(|Percent(share)| share));
            return Ok(Some(*buffer));
        }
        let idle = [
            ("flush", self.flush.is_some()),
            ("buffer_latency", self.buffer_latency.is_some()),
            ("flush_high", self.flush_high.is_some()),
            ("flush_low", self.flush_low.is_some()),
            ("buffer_reopens", self.buffer_reopens.is_some()),
        ];
        match idle.into_iter().find(|(_, given)| *given) {
            Some((key, _)) => Err(Failure::usage(format!(
                "{key} is about the write buffer, and the drive has none; set write_buffer to a \
                 size such as 8m, or leave {key} out"
            ))),
            None => Ok(None),
        }
    }

    /// The stripes of a drive that otherwise has those of `before`.
    fn rain_stripes(&self, before: Option<RainConfig>) -> Result<Option<RainConfig>, Failure> {
        let width = self.rain.unwrap_or(before.map_or(0, |rain| rain.width));
        if width == 0 {
            let idle = [
                ("tolerant_reads", self.tolerant_reads == Some(true)),
                ("greedy_reads", self.greedy_reads == Some(true)),
                ("rotating_collection", {
                    let rotation = value(&self.rotating_collection);
                    rotation.is_some_and(|Rotating(rotation)| rotation != ssd::Rotation::Off)
                }),
                ("xor", self.xor.is_some()),
                ("wear_leveling", self.wear_leveling.is_some_and(|erases| erases > 0)),
            ];
            return match idle.into_iter().find(|(_, given)| *given) {
                Some((key, _)) => Err(Failure::usage(format!(
                    "{key} is about RAIN, and the drive has none; set rain to the width of a \
                     stripe such as 8, or leave {key} out"
                ))),
                None => Ok(None),
            };
        }
        let mut rain = before.unwrap_or(RainConfig::new(width));
        rain.width = width;
        put(&mut rain.tolerant_reads, self.tolerant_reads);
        put(&mut rain.greedy_reads, self.greedy_reads);
        if rain.greedy_reads && !rain.tolerant_reads {
            return Err(Failure::usage("greedy_reads is of no use without tolerant_reads"));
        }
        put(&mut rain.rotation, value(&self.rotating_collection).map(|Rotating(rule)| rule));
        put(&mut rain.xor, value(&self.xor).map(|Span(length)| length));
        if let Some(erases) = self.wear_leveling {
            rain.wear_leveling = (erases > 0).then_some(erases);
        }
        Ok(Some(rain))
    }

    /// Programs and erases that may be interrupted.
    fn put_suspension(&self, config: &mut Config) -> Result<(), Failure> {
        let before = config.scheduling.suspension;
        let most = self.suspensions.or(before.map(|suspension| suspension.most)).unwrap_or(0);
        if most == 0 {
            let idle = [
                ("suspends", self.suspends.is_some()),
                ("suspend_program", self.suspend_program.is_some()),
                ("suspend_erase", self.suspend_erase.is_some()),
                ("program_pulse", self.program_pulse.is_some()),
                ("erase_pulse", self.erase_pulse.is_some()),
                ("suspensions_apart", self.suspensions_apart.is_some()),
            ];
            if let Some((key, _)) = idle.into_iter().find(|(_, given)| *given) {
                return Err(Failure::usage(format!(
                    "{key} is of no use while suspensions is 0; set suspensions to the most that \
                     one operation may suffer, or leave {key} out"
                )));
            }
            config.scheduling.suspension = None;
            return Ok(());
        }
        let mut suspension = before.unwrap_or(SuspensionConfig {
            what: Suspendable::Everything,
            program: SuspensionConfig::USUAL_PROGRAM,
            erase: SuspensionConfig::USUAL_ERASE,
            most,
            pulses: PulseConfig::NONE,
        });
        let length = |setting| value(setting).map(|Span(duration)| duration);
        suspension.most = most;
        put(&mut suspension.what, value(&self.suspends).map(|Suspends(what)| what));
        put(&mut suspension.program, length(&self.suspend_program));
        put(&mut suspension.erase, length(&self.suspend_erase));
        put(&mut suspension.pulses.program, length(&self.program_pulse));
        put(&mut suspension.pulses.erase, length(&self.erase_pulse));
        put(&mut suspension.pulses.apart, length(&self.suspensions_apart));
        if suspension.what == Suspendable::Programs {
            let of_erases = [
                ("suspend_erase", self.suspend_erase.is_some()),
                ("erase_pulse", !suspension.pulses.erase.is_zero()),
            ];
            if let Some((key, _)) = of_erases.into_iter().find(|(_, is_set)| *is_set) {
                return Err(Failure::usage(format!(
                    "{key} is of no use while suspends is programs; set suspends to everything, or \
                     leave {key} out"
                )));
            }
            suspension.leave_erases_whole();
        }
        if self.suspensions_apart.is_some() && !suspension.repeats() {
            return Err(Failure::usage(
                "suspensions_apart is of no use while suspensions is 1 and erase_pulse is not set; \
                 set suspensions to 2 or more, or leave suspensions_apart out",
            ));
        }
        config.scheduling.suspension = Some(suspension);
        Ok(())
    }

    /// Refuses terms of the contract that no formula can use.
    fn check_contract(&self) -> Result<(), Failure> {
        let rates = [
            ("burst_bytes_per_second", self.burst_bytes_per_second),
            ("drive_writes_per_day", self.drive_writes_per_day),
        ];
        for (key, value) in rates {
            if value.is_some_and(|value| !(value > 0.0 && value.is_finite())) {
                return Err(Failure::usage(format!("{key} must be above 0 and finite")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_survives_being_spelt_out() {
        for name in ssd::presets::names() {
            let config = ssd::presets::preset(name).unwrap();
            let text = toml::to_string(&DriveSettings::full(&config)).unwrap();
            let again: DriveSettings = toml::from_str(&text).unwrap();
            assert_eq!(again.build().unwrap(), config, "{name}: {text}");
        }
    }

    #[test]
    fn a_write_buffer_survives_being_spelt_out() {
        let text = "write_buffer = \"8MiB\"\nflush = \"in-window\"\nbuffer_latency = \"7us\"\n\
                    flush_high = \"70%\"\nflush_low = \"10%\"\n";
        let config = toml::from_str::<DriveSettings>(text).unwrap().build().unwrap();
        let buffer = config.write_buffer.unwrap();
        assert_eq!((buffer.pages, buffer.flush), (2048, ssd::FlushRule::InWindow));
        assert_eq!((buffer.high, buffer.low), (Ratio::from_percent(70), Ratio::from_percent(10)));
        let full = toml::to_string(&DriveSettings::full(&config)).unwrap();
        let again: DriveSettings = toml::from_str(&full).unwrap();
        assert_eq!(again.build().unwrap(), config, "{full}");
        let without = DriveSettings { write_buffer: "none".parse().ok(), ..again };
        let error = without.build().unwrap_err().to_string();
        assert!(error.starts_with("flush is about the write buffer"), "{error}");
    }

    #[test]
    fn rain_survives_being_spelt_out() {
        let text = "base = \"ttflash\"\nrain = 4\ntolerant_reads = false\n\
                    rotating_collection = \"forced\"\nxor = \"1us\"\nwear_leveling = 5\n";
        let config = toml::from_str::<DriveSettings>(text).unwrap().build().unwrap();
        let rain = config.rain.unwrap();
        assert_eq!((rain.width, rain.tolerant_reads, rain.wear_leveling), (4, false, Some(5)));
        let full = toml::to_string(&DriveSettings::full(&config)).unwrap();
        let again: DriveSettings = toml::from_str(&full).unwrap();
        assert_eq!(again.build().unwrap(), config, "{full}");
        let without = DriveSettings { rain: Some(0), ..again };
        let error = without.build().unwrap_err().to_string();
        assert!(error.starts_with("rotating_collection is about RAIN"), "{error}");
        let off = "base = \"ttflash\"\nrain = 0\ntolerant_reads = false\n\
                   rotating_collection = \"off\"\n";
        assert_eq!(toml::from_str::<DriveSettings>(off).unwrap().build().unwrap().rain, None);
    }

    #[test]
    fn scrubbing_survives_being_spelt_out() {
        let text = "transfer = \"1us\"\ncopyback = true\nscrub_after = \"7ms\"\n";
        let config = toml::from_str::<DriveSettings>(text).unwrap().build().unwrap();
        assert_eq!(config.scrub, Some(ScrubConfig { after: Duration::from_millis(7) }));
        let full = toml::to_string(&DriveSettings::full(&config)).unwrap();
        let again: DriveSettings = toml::from_str(&full).unwrap();
        assert_eq!(again.build().unwrap(), config, "{full}");
        let without = DriveSettings { scrub_after: "none".parse().ok(), ..again };
        assert_eq!(without.build().unwrap().scrub, None);
    }

    #[test]
    fn watermarks_follow_the_spare_space() {
        let settings = DriveSettings {
            over_provisioning: "12.5%".parse().ok(),
            ..DriveSettings::preset("femu-artifact")
        };
        let config = settings.build().unwrap();
        assert_eq!(config.collection.soft, Ratio::from_percent(5));
        assert_eq!(config.name, "femu-artifact, changed");
    }

    const SHEET: &str = "[data_sheet]\ncapacity = '0.96TB'\nsequential_read = '6.5GB/s'\n\
                         sequential_write = '1500MB/s'\nrandom_read = 580000\n\
                         read_latency = '75us'\n";

    fn refused(text: &str) -> String {
        toml::from_str::<DriveSettings>(text).unwrap().build().unwrap_err().to_string()
    }

    #[test]
    fn a_drive_with_a_data_sheet_survives_being_spelt_out() {
        let settings = toml::from_str::<DriveSettings>(SHEET).unwrap();
        let written = toml::to_string(&settings).unwrap();
        assert_eq!(toml::from_str::<DriveSettings>(&written).unwrap(), settings, "{written}");
        let config = settings.build().unwrap();
        assert_eq!((config.name.as_str(), config.validate()), ("data sheet", Ok(())));
        let full = toml::to_string(&DriveSettings::full(&config)).unwrap();
        let again: DriveSettings = toml::from_str(&full).unwrap();
        assert_eq!(again.build().unwrap(), config, "{full}");
    }

    #[test]
    fn other_keys_change_a_drive_with_a_data_sheet() {
        let of = |text: &str| {
            let text = format!("{text}\n{SHEET}");
            toml::from_str::<DriveSettings>(&text).unwrap().build().unwrap()
        };
        let usual = of("");
        let slow = of("erase = '9ms'");
        assert_eq!((slow.timing.erase, slow.geometry), (Duration::from_millis(9), usual.geometry));
        assert_eq!(slow.name, "data sheet, changed");
        assert_eq!(of("name = 'mine'").name, "mine");
        // The capacity stays, and so do the superblocks between the watermarks.
        let spare = of("over_provisioning = '27%'");
        let ratio = spare.logical_bytes() as f64 / usual.logical_bytes() as f64;
        assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
        assert_eq!(spare.soft_blocks(), usual.soft_blocks());
    }

    #[test]
    fn data_sheets_that_make_no_drive_are_refused() {
        let both = refused(&format!("base = 'femu'\n{SHEET}"));
        assert!(both.starts_with("base is \"femu\" beside [drive.data_sheet], but"), "{both}");
        let lacking = refused("[data_sheet]\ncapacity = '960GB'\n");
        assert!(lacking.starts_with("data_sheet.sequential_read is missing; a drive"), "{lacking}");
        let slow = refused(&SHEET.replace("1500MB/s", "1500"));
        assert!(slow.starts_with("data sheet: sequential_write is 0.0015 MB/s; it"), "{slow}");
        let word = format!("{SHEET}flash = 'slc'\n");
        let error = toml::from_str::<DriveSettings>(&word).unwrap_err().to_string();
        assert!(error.contains("flash \"slc\" is not one of tlc, qlc"), "{error}");
    }

    #[test]
    fn an_unknown_drive_is_refused_with_what_was_meant() {
        let error = DriveSettings::preset("fema").build().unwrap_err().to_string();
        assert!(error.starts_with("there is no drive \"fema\"; did you mean \"femu\"?"), "{error}");
    }
}
