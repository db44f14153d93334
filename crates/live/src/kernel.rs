//! Adding and multiplying data in GF(2^8), with whatever vector instructions the processor has.
