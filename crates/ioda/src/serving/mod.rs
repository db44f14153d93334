//! From settings to an array that can be served: its drives, where their bytes are, and what is
//! needed to go on under another policy.

mod addresses;
mod bytes;
#[cfg(test)]
mod damaged;
mod degraded;
mod drives;
mod forced;
mod hosts;
mod network;

pub(crate) use addresses::{Addresses, EXPORT};
pub(crate) use bytes::{Opened, open};
pub(crate) use degraded::Warning;
pub(crate) use hosts::Paths;

use array::policy::PolicyKind;
use array::{Config, Layout, Level};
use live::clock::Spin;
use live::durable::Geometry;
use live::server::{CLIENT_MEMORY_BYTES_MIN, Parts, SwitchTable, default_client_memory_bytes};
use sim::Plan;
use study::Failure;
use study::settings::Settings;
use study::setup;

/// Bytes of a page of plain drives: what NVMe drives and file systems agree on.
const PAGE_BYTES: u32 = 4096;
/// Size of a plain drive unless it is said.
const DRIVE_BYTES: u64 = 1 << 30;
/// Whether data on files and devices have checksums unless something else is asked for.
const CHECKSUMS_USUAL: bool = true;
/// One part in so many of the memory for clients is for checksums unless something else is chosen.
const CHECKSUM_CACHE_PARTS: u64 = 4;
/// Least memory for checksums that can be chosen.
const CHECKSUM_CACHE_BYTES_MIN: u64 = 1 << 20;
/// Largest stripe, parity included: it must fit the journal of a degraded array.
const STRIPE_BYTES_MOST: u64 = 8 << 20;

/// An array as it is to be served.
pub(crate) struct Built {
    /// The plan of the simulator that describes it.
    pub(crate) plan: Plan,
    pub(crate) config: Config,
    pub(crate) geometry: Geometry,
    /// Whether drives are taken as they are.
    pub(crate) plain: bool,
    /// Bound on what all clients together have the server hold.
    pub(crate) client_memory_bytes: u64,
    /// How its thread waits.
    pub(crate) spin: Spin,
    /// Bound on the checksums of files and devices that are in memory.
    pub(crate) checksum_cache_bytes: u64,
}

/// Works out what `settings` describe. What an array says about itself that is there already goes
/// before what is not said.
pub(crate) fn build(settings: &Settings, there: Option<&Geometry>) -> Result<Built, Failure> {
    let mut settings = settings.clone();
    if let Some(geometry) = there {
        follow(&mut settings, geometry)?;
    }
    let seed = settings.run.seed.as_ref().map_or(1, |seed| seed.value);
    let mut plan = setup::plan(&settings, seed)?;
    plan.verify = true;
    plan.spare = units::Ratio::ZERO;
    let usual =
        if PolicyKind::IODA.is_possible(plan.level) { PolicyKind::IODA } else { PolicyKind::BASE };
    plan.policy = settings.run.policy.first().map_or(usual, |text| text.value.0);
    if let Some(place) = &settings.serve.plm_coordinator {
        plan.policy_settings.plm_light.coordinator = place.value.0;
    }
    let plain = settings.serve.plain;
    if plain && !plan.other_drives.is_empty() {
        return Err(Failure::usage(
            "--other-drive names the model of an emulated drive, and with --plain drives are as \
             fast as they are; leave one of them out",
        ));
    }
    let drive_bytes = match (there, &settings.serve.drive_size) {
        _ if !plain => plan.drive.logical_bytes(),
        (Some(geometry), _) => geometry.drive_bytes,
        (None, Some(size)) => size.value.0,
        (None, None) => DRIVE_BYTES,
    };
    check_policy(&plan, plain).map_err(Failure::usage)?;
    let mut config = plan.array_config()?;
    if plain {
        config.layout = plain_layout(&plan, drive_bytes)?;
        config.page_bytes = PAGE_BYTES;
        config.spare = 0..0;
    }
    config.job_depth = settings.serve.restore_depth.unwrap_or(array::JOB_DEPTH);
    if config.job_depth == 0 {
        return Err(Failure::usage("--restore-depth is 0; it must be at least 1"));
    }
    let stripe_bytes = u64::from(plan.stripe_width()) * plan.chunk_bytes;
    if stripe_bytes > STRIPE_BYTES_MOST {
        return Err(Failure::usage(format!(
            "a stripe of {} chunks of {} bytes is larger than {STRIPE_BYTES_MOST} bytes, the most \
             that can be served; choose a smaller --chunk or narrower stripes",
            plan.stripe_width(),
            plan.chunk_bytes
        )));
    }
    let asked = settings.serve.journal.as_ref().map(|text| text.value.0);
    let journalled = chosen_once(asked, there.map(|there| there.journalled), |asked, there| {
        let (asked, there) = (asked.name(), there.name());
        format!("--journal {asked}: the array that is there journals its changes \"{there}\"")
    })?;
    let asked = settings.serve.checksums.as_ref().map(|text| text.value.0);
    let checksums = chosen_once(asked, there.map(|there| there.checksums), |asked, there| {
        let (asked, there) =
            (if asked { "on" } else { "off" }, if there { "some" } else { "none" });
        format!("--checksums {asked}: the array that is there has {there}")
    })?;
    let geometry = Geometry {
        checksums: checksums.unwrap_or(CHECKSUMS_USUAL),
        journalled: journalled.unwrap_or_default(),
        level: plan.level,
        width: plan.width as u8,
        stripe_width: plan.stripe_width() as u8,
        chunk_bytes: plan.chunk_bytes,
        page_bytes: config.page_bytes,
        drive_bytes,
    };
    if let Some(there) = there.filter(|there| **there != geometry) {
        return Err(Failure::usage(format!(
            "the array that is there has {}, not {}; serve it with the drives that it was made with",
            words(there),
            words(&geometry)
        )));
    }
    let client_memory_bytes = client_memory_bytes(&settings)?;
    let checksum_cache_bytes = checksum_cache_bytes(&settings, client_memory_bytes)?;
    let spin = settings.serve.wait.as_ref().map_or(Spin::Adaptive, |wait| wait.value.0);
    Ok(Built { plan, config, geometry, plain, client_memory_bytes, spin, checksum_cache_bytes })
}

/// What is chosen when an array is made: as it is there, if one is. `differ` says in what it is not
/// what was asked for.
fn chosen_once<T: PartialEq + Copy>(
    asked: Option<T>,
    there: Option<T>,
    differ: impl FnOnce(T, T) -> String,
) -> Result<Option<T>, Failure> {
    match (asked, there) {
        (Some(asked), Some(there)) if asked != there => Err(Failure::usage(format!(
            "{}; that is chosen when an array is made",
            differ(asked, there)
        ))),
        (asked, there) => Ok(there.or(asked)),
    }
}

fn words(geometry: &Geometry) -> String {
    format!(
        "{} drives of {} bytes in {} with chunks of {} bytes",
        geometry.width,
        geometry.drive_bytes,
        geometry.level.name(),
        geometry.chunk_bytes
    )
}

fn client_memory_bytes(settings: &Settings) -> Result<u64, Failure> {
    let Some(size) = &settings.serve.client_memory else {
        return Ok(default_client_memory_bytes());
    };
    let bytes = size.value.0;
    if bytes < CLIENT_MEMORY_BYTES_MIN {
        return Err(Failure::usage(format!(
            "--client-memory is {bytes} bytes; it must be at least {CLIENT_MEMORY_BYTES_MIN}, so that \
             the largest request fits"
        )));
    }
    Ok(bytes)
}

/// Unless it is chosen, a share of what clients may hold: who bounds the one for a small machine
/// bounds the other, and a large machine keeps the checksums of more data.
fn checksum_cache_bytes(settings: &Settings, client_memory_bytes: u64) -> Result<u64, Failure> {
    let Some(size) = &settings.serve.checksum_cache else {
        return Ok(client_memory_bytes / CHECKSUM_CACHE_PARTS);
    };
    let bytes = size.value.0;
    if bytes < CHECKSUM_CACHE_BYTES_MIN {
        return Err(Failure::usage(format!(
            "--checksum-cache is {bytes} bytes; it must be at least {CHECKSUM_CACHE_BYTES_MIN}, so that \
             requests in flight find their checksums"
        )));
    }
    Ok(bytes)
}

/// Fills in what is not said from what is there.
fn follow(settings: &mut Settings, there: &Geometry) -> Result<(), Failure> {
    let array = &mut settings.array;
    array.drives.get_or_insert(u32::from(there.width));
    if array.raid.is_none() {
        let level = there.level.name().trim_start_matches("raid");
        array.raid = Some(level.parse().map_err(Failure::usage)?);
    }
    if there.stripe_width != there.width && there.level != Level::Raid10 {
        array.stripe_width.get_or_insert(u32::from(there.stripe_width));
    }
    if array.chunk.is_none() {
        let size = study::values::quantity::exact_size(there.chunk_bytes);
        array.chunk = Some(size.parse().map_err(Failure::usage)?);
    }
    Ok(())
}

fn plain_layout(plan: &Plan, drive_bytes: u64) -> Result<Layout, Failure> {
    let page = u64::from(PAGE_BYTES);
    if drive_bytes == 0 || !drive_bytes.is_multiple_of(page) {
        return Err(Failure::usage(format!(
            "--drive-size is {drive_bytes} bytes; it must be a multiple of {page}"
        )));
    }
    if !plan.chunk_bytes.is_multiple_of(page) {
        return Err(Failure::usage(format!(
            "--chunk is {} bytes; it must be a multiple of {page} on plain drives",
            plan.chunk_bytes
        )));
    }
    let chunk_pages = (plan.chunk_bytes / page) as u32;
    Layout::striped(plan.level, plan.width, plan.stripe_width(), chunk_pages, drive_bytes / page)
        .map_err(Failure::usage)
}

/// Whether the array can be served under the policy of `plan`.
fn check_policy(plan: &Plan, plain: bool) -> Result<(), String> {
    plan.layout().map_err(|error| error.to_string())?;
    let settings = plan.policy_parts().1;
    let setup = array::policy::PolicySetup {
        drives: plan.width,
        parities: plan.parities(),
        reconstruct_compute: plan.reconstruct_compute,
        settings: &settings,
    };
    let caches_writes = (plan.policy.about().build)(&setup).write_cache().is_some();
    if plain && caches_writes {
        return Err(format!(
            "policy {} keeps writes in a fast memory in front of the drives, which is emulated; it \
             cannot be had with plain drives",
            plan.policy.name()
        ));
    }
    Ok(())
}

/// How the array goes on under each policy.
pub(crate) fn switch_table(built: &Built) -> SwitchTable {
    let (plan, plain) = (built.plan.clone(), built.plain);
    SwitchTable(Box::new(move |name: &str| -> Parts {
        let Some(policy) = PolicyKind::from_name(name) else {
            let known = PolicyKind::ALL.iter().map(|policy| policy.name());
            return Err(study::values::names::Unknown::new("policy", name, known).to_string());
        };
        let plan = Plan { policy, ..plan.clone() };
        check_policy(&plan, plain)?;
        Ok(plan.policy_parts())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::settings::parse;

    fn cache_bytes(serve: &str) -> Result<u64, String> {
        let settings = parse::<Settings>(&format!("[serve]\n{serve}"), "a.toml");
        let settings = settings.map_err(|error| error.to_string())?;
        build(&settings, None)
            .map(|built| built.checksum_cache_bytes)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn memory_for_checksums_is_what_was_chosen_or_a_share_of_that_for_clients() {
        assert_eq!(cache_bytes("client_memory = \"1g\""), Ok(256 << 20));
        assert_eq!(cache_bytes("client_memory = \"64m\""), Ok(16 << 20));
        assert_eq!(cache_bytes("").unwrap(), default_client_memory_bytes() / 4);
        assert_eq!(cache_bytes("client_memory = \"1g\"\nchecksum_cache = \"1m\""), Ok(1 << 20));
        let refused = cache_bytes("checksum_cache = \"1023k\"").unwrap_err();
        assert!(refused.contains("--checksum-cache is 1047552 bytes; it must be at least 1048576"));
    }
}
