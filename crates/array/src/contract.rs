//! What an array promises its reads while drives take turns.

/// What reads can count on as far as windows go.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Contract {
    /// Nothing: drives take no turns.
    None,
    /// The whole contract: so many drives are busy at once at most, and every stripe can do without them.
    Whole {
        /// How many.
        busy_drives: u32,
    },
    /// The same with fewer drives, because others have failed or are being rebuilt.
    Reduced {
        /// How many.
        busy_drives: u32,
    },
    /// Nothing for stripes that miss a member: so many drives are busy at once at most, and a read that needs one
    /// of them waits for it.
    Suspended {
        /// How many.
        busy_drives: u32,
    },
}
