//! What an array writes down about itself so that it survives its process.
