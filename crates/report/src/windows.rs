//! The document of `ioda plan`'s page: windows on paper.

use crate::Finding;
use serde::Serialize;

/// Windows of one or several arrays, as plain data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WindowReport {
    /// What is planned, in one line.
    pub title: String,
    /// Version of the program.
    pub ioda_version: String,
    /// The command as it was typed.
    pub command_line: String,
    /// The verdicts, one sentence each.
    pub findings: Vec<Finding>,
    /// `TW_burst` in ms over the number of drives, one curve per array.
    pub by_width: Vec<WindowCurve>,
    /// The longest window in ms over the load in drive writes per day, one curve per array.
    pub by_load: Vec<WindowCurve>,
    /// Header of the table.
    pub header: Vec<String>,
    /// Its rows; the first cell of each is its name.
    pub rows: Vec<Vec<String>>,
    /// What the rows mean.
    pub notes: Vec<String>,
}

/// The longest window of one drive over something. Every number is finite and above zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WindowCurve {
    /// The drive.
    pub name: String,
    /// Points, x ascending, with the window in ms.
    pub points: Vec<(f64, f64)>,
    /// The shortest window in ms; where the curve is below it, nothing can be promised.
    pub shortest_ms: f64,
    /// The width that was planned, or the load that the drive is rated for.
    pub own: f64,
    /// The loads that were asked for; empty where x is no load.
    pub asked: Vec<AskedLoad>,
}

/// A load that was asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AskedLoad {
    /// How it was asked for.
    pub name: String,
    /// Its place on the axis.
    pub at: f64,
}
