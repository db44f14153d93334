//! When drives may collect: `[windows]`.

use crate::failure::Failure;
use crate::values::quantity::{Span, Text, TimeWindow, not_understood};
use crate::values::typed::Spelled;
use crate::values::words::Coordinator;
use array::WindowChange;
use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim::{Coordinate, Plan, WindowPlan};
use std::str::FromStr;
use units::Duration;
use workload::OptionError;

/// `P` and `I` of adapted windows: the examples of the article (IODA §7.2).
const PERIOD: Duration = Duration::from_millis(50);
const INCREMENT: Duration = Duration::from_millis(10);
/// `B` of adapted windows: its example as well.
const BASE: Duration = Duration::from_millis(500);
/// Time between two looks at the drives where tokens are granted.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Windows from a time on, as in `30s=200ms` or `60s=width:8`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Change {
    after: Duration,
    to: ChangedTo,
}

/// What windows change to.
#[derive(Clone, Copy, PartialEq, Debug)]
enum ChangedTo {
    /// Another length.
    Window(TimeWindow),
    /// Another arrayWidth, and the length that drives advertise for it.
    Width(u32),
}

impl Spelled for Change {
    const TYPE: &str = "change of windows, such as `30s=200ms`, `1m=norm` or `60s=width:8`";
}

impl FromStr for Change {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let wanted = "a time and a window or a width, such as 30s=200ms, 1m=norm or 60s=width:8";
        let refused = || not_understood("change of windows", text, wanted);
        let (after, window) = text.split_once('=').ok_or_else(refused)?;
        let after =
            workload::parse_duration(after.trim()).map_err(|error| error.of_part(refused))?;
        let to = match window.trim().strip_prefix("width:") {
            Some(width) => ChangedTo::Width(width.parse().map_err(|_| refused())?),
            None => {
                let parsed = window.trim().parse();
                ChangedTo::Window(parsed.map_err(|error: OptionError| error.of_part(refused))?)
            }
        };
        Ok(Self { after, to })
    }
}

/// When drives may collect: `[windows]`. For policies with windows.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[command(next_help_heading = "Windows")]
pub struct WindowSettings {
    /// Who decides when a drive may collect: windows (in turn, of a fixed length), adaptive (the
    /// host changes the length while it watches) or token (the host grants it by need)
    /// [default: windows]
    #[arg(long, value_name = "WAY")]
    pub coordinate: Option<Text<Coordinator>>,
    /// Drives that may be busy at once, 1 or more [default: the number of parities]
    #[arg(long, value_name = "K")]
    pub busy_drives: Option<u32>,
    /// Most by which the clock of any drive is off; drives are put at the worst ends of it,
    /// such as 2ms [default: 0]
    #[arg(long, value_name = "TIME")]
    pub clock_skew: Option<Text<Span>>,
    /// Time at both ends of each window in which nothing is collected, such as 2ms
    /// [default: the clock skew]
    #[arg(long, value_name = "TIME")]
    pub guard: Option<Text<Span>>,
    /// Later windows and from when on, such as 30s=200ms,60s=norm,90s=width:8. width:N tells the
    /// drives an arrayWidth of N, at least the number of drives
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tw_changes: Vec<Text<Change>>,
    /// Adaptive: time between two decisions, P [default: 50ms]
    #[arg(long, value_name = "TIME")]
    pub adapt_every: Option<Text<Span>>,
    /// Adaptive: what a window grows by, I [default: 10ms]; --tw is B [default: 500ms]
    #[arg(long, value_name = "TIME")]
    pub adapt_by: Option<Text<Span>>,
    /// Token: how long a token is good for, such as 40ms [default: twice one collection]
    #[arg(long, value_name = "TIME")]
    pub lease: Option<Text<Span>>,
    /// Token: time between two looks at the drives [default: 5ms]
    #[arg(long, value_name = "TIME")]
    pub look_every: Option<Text<Span>>,
}

fn span(setting: &Option<Text<Span>>) -> Option<Duration> {
    setting.as_ref().map(|text| text.value.0)
}

impl WindowSettings {
    /// The windows of `plan`, whose array and drives are known.
    pub fn plan(&self, plan: &Plan, window: Option<TimeWindow>) -> Result<WindowPlan, Failure> {
        let way = self.coordinate.as_ref().map_or(Coordinator::Windows, |text| text.value);
        self.refuse_what_does_not_apply(way)?;
        let windows = WindowPlan {
            busy_drives: self.busy_drives,
            clock_skew: span(&self.clock_skew).unwrap_or(Duration::ZERO),
            guard: span(&self.guard),
            ..WindowPlan::default()
        };
        let plan = Plan { windows, ..plan.clone() };
        let length = |window| length(&plan, window);
        let busy_time_window = match (window, way) {
            (None, Coordinator::Adaptive) => Some(BASE),
            (window, _) => window.and_then(length),
        };
        let changes = self.tw_changes.iter().map(|text| {
            let Change { after, to } = text.value;
            let (busy_time_window, array_width) = match to {
                ChangedTo::Window(window) => {
                    (length(window).unwrap_or_else(|| plan.advertised_window()), None)
                }
                ChangedTo::Width(width) => (plan.advertised_at(width), Some(width)),
            };
            (after, WindowChange { busy_time_window, array_width })
        });
        let mut changes: Vec<(Duration, WindowChange)> = changes.collect();
        changes.sort_by_key(|&(after, _)| after);
        let coordinate = match way {
            Coordinator::Windows => Coordinate::Windows,
            Coordinator::Adaptive => Coordinate::Adaptive {
                period: span(&self.adapt_every).unwrap_or(PERIOD),
                increment: span(&self.adapt_by).unwrap_or(INCREMENT),
            },
            Coordinator::Token => Coordinate::Token {
                lease: span(&self.lease),
                period: span(&self.look_every).unwrap_or(LOOK_EVERY),
            },
        };
        Ok(WindowPlan { busy_time_window, coordinate, changes, ..plan.windows.clone() })
    }

    /// Refuses options that the chosen way would ignore.
    fn refuse_what_does_not_apply(&self, way: Coordinator) -> Result<(), Failure> {
        let options = [
            ("--adapt-every", self.adapt_every.is_some(), Coordinator::Adaptive),
            ("--adapt-by", self.adapt_by.is_some(), Coordinator::Adaptive),
            ("--lease", self.lease.is_some(), Coordinator::Token),
            ("--look-every", self.look_every.is_some(), Coordinator::Token),
            ("--tw-changes", !self.tw_changes.is_empty(), Coordinator::Windows),
        ];
        match options.into_iter().find(|&(_, given, of)| given && of != way) {
            Some((flag, _, of)) => Err(Failure::usage(format!(
                "{flag} is for --coordinate {of}, but the coordination is {way}; leave it out or \
                 choose {of}"
            ))),
            None => Ok(()),
        }
    }
}

/// The length that is meant; none for what the drives advertise.
fn length(plan: &Plan, window: TimeWindow) -> Option<Duration> {
    let bound = |load| {
        let parameters = plan.drive.likely_parameters();
        parameters.safe_window(plan.array_description(), load, plan.windows.guard())
    };
    match window {
        TimeWindow::Burst => None,
        TimeWindow::Normal => Some(bound(plan.drive.normal_bytes_per_second())),
        TimeWindow::For(load) => Some(bound(load.bytes_per_second(&plan.drive))),
        TimeWindow::Length(length) => Some(length),
    }
}
