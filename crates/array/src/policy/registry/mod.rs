//! The registry of policies. A new one is a file here, and two lines below.

mod attentive;
mod base;
mod degraded;
mod first_k;
mod floor;
mod gc_tolerate;
mod harmonia;
mod hedged;
mod ideal;
mod iod1;
mod iod2;
mod iod3;
mod iod3_commodity;
mod ioda;
mod latency_weighted;
mod least_outstanding;
mod mittos;
pub(super) mod plm_light;
mod predicted;
mod proactive;
mod quiet;
mod sit_out;
mod write_caching;

use super::PolicyKind;

impl PolicyKind {
    /// Wait for whatever is slow.
    pub const BASE: Self = base::BASE;
    /// PL flag and reconstruction.
    pub const IOD1: Self = iod1::IOD1;
    /// PL flag, reconstruction, and busy remaining time.
    pub const IOD2: Self = iod2::IOD2;
    /// Windows only.
    pub const IOD3: Self = iod3::IOD3;
    /// PL flag and windows.
    pub const IODA: Self = ioda::IODA;
    /// Collections take no time.
    pub const IDEAL: Self = ideal::IDEAL;

    /// IODA, its parts, and Base and Ideal, between which they are measured (IODA §6.1), in the
    /// order of the paper's figures.
    pub const IODA_PARTS: [Self; 6] =
        [Self::BASE, Self::IOD1, Self::IOD2, Self::IOD3, Self::IODA, Self::IDEAL];

    /// Policies that the demonstration compares: the paper's two ideas one by one and together, and
    /// what is left to gain after them.
    pub const DEMONSTRATION: [Self; 6] =
        [Self::BASE, Self::IOD1, Self::IOD3, Self::IODA, quiet::QUIET, Self::IDEAL];

    /// All policies, in the order of tables. A new one is a file here and a line below.
    pub const ALL: &'static [Self] = &[
        base::BASE,
        iod1::IOD1,
        iod2::IOD2,
        iod3::IOD3,
        ioda::IODA,
        ideal::IDEAL,
        iod3_commodity::IOD3_COMMODITY,
        proactive::PROACTIVE,
        harmonia::HARMONIA,
        mittos::MITTOS,
        gc_tolerate::GC_TOLERATE,
        degraded::DEGRADED,
        degraded::DEGRADED_HOST,
        degraded::DEGRADED_AWARE,
        hedged::HEDGED,
        hedged::HEDGED_QUANTILE,
        first_k::FIRST_K,
        sit_out::SIT_OUT,
        least_outstanding::LEAST_OUTSTANDING,
        latency_weighted::LATENCY_WEIGHTED,
        write_caching::RAILS,
        write_caching::IODA_NVM,
        write_caching::PLM,
        plm_light::PLM_LIGHT,
        quiet::QUIET,
        attentive::ATTENTIVE,
        predicted::LINNOS,
        predicted::HEIMDALL,
        floor::FLOOR,
    ];

    /// The policy of the registry called `name`, in upper or lower case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name().eq_ignore_ascii_case(name))
    }
}
