//! What do people type? Names, quantities, rates and words, each with its refusal.

pub mod decimal;
pub mod names;
pub mod quantity;
pub mod rate;
pub mod typed;
pub mod words;
