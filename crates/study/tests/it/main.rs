//! Whole settings, whole runs.

mod every_key;
mod fit;
mod fit_files;
mod plm_rates;
