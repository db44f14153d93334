//! Widest group of planes in which one plane after the other collects (TTFLASH Appendix A).
//!
//! The problem is that of the busy window, for the planes of one drive and without a clock: each
//! plane must have had its turn before it runs out of space.

use units::Duration;

/// The terms of the proof, per plane (TTFLASH Table 3).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rotation {
    /// `S_page`, bytes in a page.
    pub page_bytes: u32,
    /// `BW_pl`: bytes per second that are written to the plane.
    pub write_bytes_per_second: f64,
    /// `%_validPg`: share of valid pages in a victim.
    pub valid_ratio: f64,
    /// `T_copyback`: the time to copy one page within the plane.
    pub copyback: Duration,
}

impl Rotation {
    /// `#W_pg/s`: pages written per second (Table 3c).
    #[must_use]
    pub fn pages_per_second(&self) -> f64 {
        self.write_bytes_per_second / f64::from(self.page_bytes)
    }

    /// `#CB_pg/s`: pages copied per second, one block's worth for every block written (Table 3d).
    #[must_use]
    pub fn copies_per_second(&self) -> f64 {
        self.valid_ratio * self.pages_per_second()
    }

    /// `T_gc/s`: the part of each second that goes into collection; erasing is left out (Table 3e).
    #[must_use]
    pub fn collection_share(&self) -> f64 {
        self.copies_per_second() * self.copyback.as_secs_f64()
    }

    /// Limit of the number of planes that take turns, `1 / T_gc/s` (Table 3f and 3g).
    #[must_use]
    pub fn width_limit(&self) -> f64 {
        1.0 / self.collection_share()
    }

    /// The widest group in which no two planes ever need to collect at once. The paper says "less
    /// than 4" for a limit of 4.1 and "as large as 26" for a limit of 26.2: whole planes, rounded
    /// down.
    #[must_use]
    pub fn widest(&self) -> u64 {
        self.width_limit() as u64
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use super::*;
    use units::{GIB, MIB};

    /// Table 3a, with the bandwidth in MiB per second.
    fn plane(mib_per_second: f64) -> Rotation {
        Rotation {
            page_bytes: 4096,
            write_bytes_per_second: mib_per_second * MIB as f64,
            valid_ratio: 0.25,
            copyback: Duration::from_micros(800 + 40),
        }
    }

    /// `value` with `decimals` decimals.
    fn printed(value: f64, decimals: usize) -> alloc::string::String {
        alloc::format!("{value:.decimals$}")
    }

    #[test]
    fn the_proof_of_ttflash_comes_out_line_by_line() {
        // b: 4 KiB in 900 us are 4.55 million bytes per second, which the paper cuts to 4.5 and
        // then uses as MiB; c: 1152 pages are 4.5 MiB.
        let bandwidth = 4096.0 / 900e-6 / 1e6;
        assert!((4.5..4.6).contains(&bandwidth), "{bandwidth}");
        let full = plane(4.5);
        assert_eq!(printed(full.pages_per_second(), 0), "1152");
        assert_eq!(printed(full.copies_per_second(), 0), "288");
        assert_eq!(printed(full.collection_share() * 1e3, 0), "242");
        assert_eq!(full.widest(), 4);
        // h, i and j: five writes of the plane of 4 GiB in a day of eight hours.
        let daily = 5.0 * 4.0 * GIB as f64 / (8.0 * 3600.0) / MIB as f64;
        assert_eq!(printed(daily, 1), "0.7");
        assert_eq!(printed(plane(0.7).collection_share() * 1e3, 0), "38");
        assert_eq!(plane(0.7).widest(), 26);
        // Unrounded bandwidths lead to the same widths.
        let exact = Rotation { write_bytes_per_second: 4096.0 / 900e-6, ..plane(1.0) };
        assert_eq!(exact.widest(), 4);
        assert_eq!(printed(plane(daily).collection_share() * 1e3, 0), "38");
        assert_eq!(plane(daily).widest(), 26);
    }
}
