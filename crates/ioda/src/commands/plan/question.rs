//! From arguments to what is asked, and what cannot be asked.

use super::PlanArgs;
use super::load::{Load, UsableShare};
use array::Level;
use nvme::ArrayDescription;
use ssd::Config;
use study::Failure;
use study::settings::{ArraySettings, DriveFlags, DriveSettings, Settings};
use study::setup::drive_settings;
use study::setup::planned;
use study::values::quantity::{Span, TimeWindow, exact_duration};
use units::Duration;

/// Drives of an array, unless the article or a flag says how many.
const WIDTH: u32 = 4;

/// One array of drives and the loads to judge it under.
pub(crate) struct Question {
    /// The drives, whole.
    pub(crate) config: Config,
    /// The drives as they are simulated: a part of them, if the preset is one.
    pub(crate) simulated: Config,
    /// The level.
    pub(crate) level: Level,
    /// Members that a stripe can miss.
    pub(crate) parities: u32,
    /// Width and drives that may be busy at once.
    pub(crate) array: ArrayDescription,
    /// Most by which a clock is off.
    pub(crate) clock_skew: Duration,
    /// Guard at both ends of each window.
    pub(crate) guard: Duration,
    /// The window to judge.
    pub(crate) window: Option<Duration>,
    /// The loads.
    pub(crate) loads: Vec<Load>,
}

/// The questions that the arguments ask, one per drive.
pub(crate) fn ask(args: &PlanArgs) -> Result<Vec<Question>, Failure> {
    let file = match &args.config {
        Some(path) => study::settings::load(path)?,
        None => Settings::default(),
    };
    let drives: Vec<DriveSettings> = match (&args.drive[..], &args.config) {
        ([], None) => {
            let models = ssd::MODELS.iter().map(|(name, _)| flags(args, Some(name)));
            models.map(|flags| drive_settings(&flags, &file.drive)).collect::<Result<_, _>>()?
        }
        ([], Some(_)) => vec![drive_settings(&flags(args, None), &file.drive)?],
        (named, _) => {
            let named = named.iter().map(|name| flags(args, Some(name)));
            named.map(|flags| drive_settings(&flags, &file.drive)).collect::<Result<_, _>>()?
        }
    };
    drives.iter().map(|drive| question(args, &file.array, drive)).collect()
}

fn flags(args: &PlanArgs, name: Option<&str>) -> DriveFlags {
    DriveFlags {
        drive: name.map(str::to_owned),
        blocks_per_plane: args.blocks_per_plane,
        over_provisioning: args.over_provisioning.clone(),
        ..DriveFlags::default()
    }
}

fn question(
    args: &PlanArgs,
    file: &ArraySettings,
    drive: &DriveSettings,
) -> Result<Question, Failure> {
    let mut simulated = drive.build()?;
    planned::check_drive(&simulated)?;
    let mut config = simulated.whole();
    match args.usable_share {
        Some(UsableShare::Of(share)) if args.simulate => {
            return Err(Failure::usage(format!(
                "--usable-share is {}%, but drives that --simulate runs have what lies between \
                 their watermarks; leave it out or set it to watermarks",
                share * 100.0
            )));
        }
        _ if args.simulate => config.contract.usable_share = config.watermark_share(),
        Some(UsableShare::Of(share)) => config.contract.usable_share = share,
        Some(UsableShare::Watermarks) => config.contract.usable_share = config.watermark_share(),
        None => {}
    }
    planned::check_share(&config)?;
    simulated.contract.usable_share = config.contract.usable_share;
    let level = args.raid.as_ref().or(file.raid.as_ref()).map_or(Level::Raid5, |raid| raid.value.0);
    let (array, parities) = array(args, file, level, &config)?;
    let (clock_skew, guard) = guards(args)?;
    let asked = args.tw.or(file.tw.as_ref().map(|tw| tw.value));
    let window = window(asked, &config, array, guard)?;
    let loads = if args.load.is_empty() { Load::usual() } else { args.load.clone() };
    Ok(Question { config, simulated, level, parities, array, clock_skew, guard, window, loads })
}

fn array(
    args: &PlanArgs,
    file: &ArraySettings,
    level: Level,
    config: &Config,
) -> Result<(ArrayDescription, u32), Failure> {
    let usual = ssd::MODELS.iter().find(|(name, _)| *name == config.name);
    let usual = usual.map_or(WIDTH, |(_, width)| *width);
    let width = args.drives.or(file.drives).unwrap_or(usual);
    let array = planned::array(level, width, args.busy_drives, &planned::FLAGS)?;
    Ok((array, level.parities(level.usual_stripe_width(width))))
}

/// The clock skew and the guard against it.
fn guards(args: &PlanArgs) -> Result<(Duration, Duration), Failure> {
    let skew = args.clock_skew.map_or(Duration::ZERO, |Span(skew)| skew);
    let guard = args.guard.map_or(skew, |Span(guard)| guard);
    if guard < skew {
        return Err(Failure::usage(format!(
            "--guard is {}, but clocks that are off by --clock-skew {skew} let windows overlap \
             unless it is at least {skew}",
            exact_duration(guard),
            skew = exact_duration(skew)
        )));
    }
    Ok((skew, guard))
}

/// The window to judge, which must hold one collection.
fn window(
    asked: Option<TimeWindow>,
    config: &Config,
    array: ArrayDescription,
    guard: Duration,
) -> Result<Option<Duration>, Failure> {
    let bound = |load| config.likely_parameters().safe_window(array, load, guard);
    let window = match asked {
        None => return Ok(None),
        Some(TimeWindow::Burst) => return Ok(config.burst_window(array)),
        Some(TimeWindow::Normal) => bound(config.normal_bytes_per_second()),
        Some(TimeWindow::For(load)) => bound(load.bytes_per_second(config)),
        Some(TimeWindow::Length(window)) => window,
    };
    let collection = config.unit_time(config.contract.valid_ratio);
    let least = collection + guard * 2;
    if window < least {
        let guards = match guard.is_zero() {
            true => String::new(),
            false => format!(" and its two guards {}", millis_up(guard * 2)),
        };
        return Err(Failure::usage(format!(
            "--tw is {}, but one collection of {} (T_gc) takes {}{guards}; choose at least {}",
            exact_duration(window),
            config.name,
            millis_up(collection),
            millis_up(least)
        )));
    }
    Ok(Some(window))
}

/// A length in ms that can be typed without being refused: rounded up to a hundredth.
fn millis_up(duration: Duration) -> String {
    let hundredths = duration.as_nanos().div_ceil(10_000);
    format!("{}ms", hundredths as f64 / 100.0)
}
