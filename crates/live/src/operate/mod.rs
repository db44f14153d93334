//! How people and their monitors reach a running array.
