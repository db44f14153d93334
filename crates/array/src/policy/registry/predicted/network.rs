//! Small networks in integers: weights of 16 bits, sums of 32.
//!
//! A model is a file beside the policy, written by `scripts/train-predictors`. All numbers are
//! little-endian. A model begins with `IODANN1` and the first letter of the policy. In a model of
//! Heimdall, the least value and the range of each input come next, 32 bits each. Each layer
//! follows: the number of bits by which its sums are shifted right (32 bits), the weights (16 bits,
//! all of the first unit first), and the biases (32 bits). The script scales each layer so that no
//! sum leaves 32 bits.

use alloc::vec::Vec;

/// Bytes before the numbers of a model.
pub(super) const HEAD_BYTES: usize = 8;
/// Maximum activation of a hidden unit.
const MOST: i32 = i16::MAX as i32;

/// The numbers of a model, in order.
pub(super) struct Numbers<'a>(&'a [u8]);

impl<'a> Numbers<'a> {
    /// The numbers behind the head of a model.
    pub(super) fn of(model: &'a [u8]) -> Self {
        Self(&model[HEAD_BYTES..])
    }

    fn next<const N: usize>(&mut self) -> [u8; N] {
        // Models have the length that their type says.
        let (number, rest) = self.0.split_first_chunk().expect("a model of the right length");
        self.0 = rest;
        *number
    }

    /// An unsigned number of 32 bits.
    pub(super) fn next_u32(&mut self) -> u32 {
        u32::from_le_bytes(self.next())
    }
}

/// A layer whose rows have room for `ROW` weights. Weights beyond its inputs are zero: rows of a
/// round length are multiplied several weights at a time.
pub(super) struct Layer<const ROW: usize> {
    rows: Vec<[i16; ROW]>,
    biases: Vec<i32>,
    shift: u32,
}

impl<const ROW: usize> Layer<ROW> {
    /// Bytes of a layer in a model.
    pub(super) const fn bytes(inputs: usize, outputs: usize) -> usize {
        4 + 2 * inputs * outputs + 4 * outputs
    }

    /// The next layer of a model.
    pub(super) fn read(numbers: &mut Numbers<'_>, inputs: usize, outputs: usize) -> Self {
        let shift = numbers.next_u32();
        let mut rows = Vec::with_capacity(outputs);
        for _ in 0..outputs {
            let mut row = [0; ROW];
            row[..inputs].fill_with(|| i16::from_le_bytes(numbers.next()));
            rows.push(row);
        }
        let biases = (0..outputs).map(|_| i32::from_le_bytes(numbers.next())).collect();
        Self { rows, biases, shift }
    }

    /// The weighted sum of each unit.
    fn sums<'a>(&'a self, inputs: &'a [i16; ROW]) -> impl Iterator<Item = i32> + 'a {
        self.rows.iter().zip(&self.biases).map(move |(row, bias)| {
            let products = row
                .iter()
                .zip(inputs)
                .map(|(&weight, &input)| i32::from(weight) * i32::from(input));
            bias + products.sum::<i32>()
        })
    }

    /// The activations of a hidden layer: its sums, with 0 for negative ones.
    pub(super) fn activate(&self, inputs: &[i16; ROW], outputs: &mut [i16]) {
        for (output, sum) in outputs.iter_mut().zip(self.sums(inputs)) {
            *output = (sum >> self.shift).clamp(0, MOST) as i16;
        }
    }

    /// The sums of the last layer.
    pub(super) fn outputs<const N: usize>(&self, inputs: &[i16; ROW]) -> [i32; N] {
        let mut sums = self.sums(inputs);
        core::array::from_fn(|_| sums.next().unwrap_or(0))
    }

    /// The greatest absolute sum for inputs from 0 to `most`.
    #[cfg(test)]
    pub(super) fn greatest_sum(&self, most: i64) -> i64 {
        let rows = self.rows.iter().zip(&self.biases);
        let sums = rows.map(|(row, bias)| {
            let weights: i64 = row.iter().map(|&weight| i64::from(weight).abs()).sum();
            weights * most + i64::from(*bias).abs()
        });
        sums.max().unwrap_or(0)
    }
}
