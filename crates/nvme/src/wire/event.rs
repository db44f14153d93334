//! Asynchronous events: DW0 of the completion of an Asynchronous Event Request, and the notices
//! that can be wanted.

use super::field::Bits;

const KIND: Bits = Bits::new(2, 0);
const INFORMATION: Bits = Bits::new(15, 8);
const LOG_PAGE: Bits = Bits::new(23, 16);

const NAMESPACE_ATTRIBUTES: u32 = 0x0004_0002;
const WINDOW_AGGREGATE: u32 = 0x000b_0402;
const DISCOVERY_LOG: u32 = 0x0070_f002;
const RESERVATION_LOG: u32 = 0x0080_0006;
const TRAFFIC_LOG: u32 = 0x00c0_0007;

/// Bits of notices in feature 0Bh (wanted) and in OAES of Identify Controller (offered).
pub mod notice {
    /// Namespaces were added, removed or changed.
    pub const NAMESPACE_ATTRIBUTES: u32 = 1 << 8;
    /// The aggregate log of predictable latency events changed. Linux never requests this notice.
    pub const WINDOW_AGGREGATE: u32 = 1 << 12;
    /// The discovery log changed.
    pub const DISCOVERY_LOG: u32 = 1 << 31;
}

/// An asynchronous event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AsyncEvent {
    /// Notice 00h: namespaces were added, removed or changed; log page 04h lists them.
    NamespaceAttributes,
    /// Notice 04h: log page 0Bh lists the NVM Sets. Linux only logs it.
    WindowAggregate,
    /// Notice F0h: log page 70h changed.
    DiscoveryLog,
    /// Event 00h of the command set: log page 80h has a notice. Feature 82h masks unwanted notices.
    ReservationLog,
    /// Vendor event 00h: log page C0h has the traffic of another window. Only hosts that have read
    /// the page get it.
    TrafficLog,
    /// Anything else.
    Other {
        /// Its type, 0 to 7: error, health, notice, …
        kind: u8,
        /// Information of this type.
        information: u8,
        /// Log page with details.
        log_page: u8,
    },
}

impl AsyncEvent {
    /// Decodes DW0 of a completion.
    #[must_use]
    pub const fn decode(dw0: u32) -> Self {
        let named = KIND.put32(KIND.get32(dw0))
            | INFORMATION.put32(INFORMATION.get32(dw0))
            | LOG_PAGE.put32(LOG_PAGE.get32(dw0));
        match named {
            NAMESPACE_ATTRIBUTES => Self::NamespaceAttributes,
            WINDOW_AGGREGATE => Self::WindowAggregate,
            DISCOVERY_LOG => Self::DiscoveryLog,
            RESERVATION_LOG => Self::ReservationLog,
            TRAFFIC_LOG => Self::TrafficLog,
            _ => Self::Other {
                kind: KIND.get32(dw0) as u8,
                information: INFORMATION.get32(dw0) as u8,
                log_page: LOG_PAGE.get32(dw0) as u8,
            },
        }
    }

    /// Encodes DW0 of a completion.
    #[must_use]
    pub const fn encode(&self) -> u32 {
        match *self {
            Self::NamespaceAttributes => NAMESPACE_ATTRIBUTES,
            Self::WindowAggregate => WINDOW_AGGREGATE,
            Self::DiscoveryLog => DISCOVERY_LOG,
            Self::ReservationLog => RESERVATION_LOG,
            Self::TrafficLog => TRAFFIC_LOG,
            Self::Other { kind, information, log_page } => {
                KIND.put32(kind as u32)
                    | INFORMATION.put32(information as u32)
                    | LOG_PAGE.put32(log_page as u32)
            }
        }
    }
}
