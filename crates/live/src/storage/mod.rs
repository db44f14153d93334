//! Where the bytes of drives are.
