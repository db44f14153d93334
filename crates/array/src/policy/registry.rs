//! The list of policies.

use super::PolicyKind;

impl PolicyKind {
    /// Wait for whatever is slow.
    pub const BASE: Self = super::base::BASE;
    /// PL flag and reconstruction.
    pub const IOD1: Self = super::iod1::IOD1;
    /// PL flag, reconstruction, and busy remaining time.
    pub const IOD2: Self = super::iod2::IOD2;
    /// Windows only.
    pub const IOD3: Self = super::iod3::IOD3;
    /// PL flag and windows.
    pub const IODA: Self = super::ioda::IODA;
    /// Collections take no time.
    pub const IDEAL: Self = super::ideal::IDEAL;

    /// IODA, its parts, and the two between which they are measured (IODA §6.1), in the order of
    /// the article's figures.
    pub const IODA_PARTS: [Self; 6] =
        [Self::BASE, Self::IOD1, Self::IOD2, Self::IOD3, Self::IODA, Self::IDEAL];

    /// What the demonstration compares: what the article's two ideas do one by one and together,
    /// and what is left to do after it.
    pub const DEMONSTRATION: [Self; 6] =
        [Self::BASE, Self::IOD1, Self::IOD3, Self::IODA, super::quiet::QUIET, Self::IDEAL];

    /// All policies, in the order of tables. A new one is a file and a line here.
    pub const ALL: &'static [Self] = &[
        super::base::BASE,
        super::iod1::IOD1,
        super::iod2::IOD2,
        super::iod3::IOD3,
        super::ioda::IODA,
        super::ideal::IDEAL,
        super::iod3_commodity::IOD3_COMMODITY,
        super::proactive::PROACTIVE,
        super::harmonia::HARMONIA,
        super::mittos::MITTOS,
        super::gc_tolerate::GC_TOLERATE,
        super::degraded::DEGRADED,
        super::degraded::DEGRADED_HOST,
        super::degraded::DEGRADED_AWARE,
        super::hedged::HEDGED,
        super::hedged::HEDGED_QUANTILE,
        super::first_k::FIRST_K,
        super::sit_out::SIT_OUT,
        super::least_outstanding::LEAST_OUTSTANDING,
        super::latency_weighted::LATENCY_WEIGHTED,
        super::write_caching::RAILS,
        super::write_caching::IODA_NVM,
        super::write_caching::PLM,
        super::plm_light::PLM_LIGHT,
        super::quiet::QUIET,
        super::floor::FLOOR,
    ];

    /// The policy of the registry called `name`, in upper or lower case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name().eq_ignore_ascii_case(name))
    }
}
