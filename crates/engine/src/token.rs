//! Names of requests.

use alloc::vec::Vec;

/// The driver's name of a request from its arrival to its answer.
///
/// A small number, because it is an index into tables of requests. The driver may use it again
/// after [`Output::Reply`]; after a read, only after [`Volume::end_read`] or [`Volume::take_read`].
///
/// [`Output::Reply`]: crate::volume::Output::Reply
/// [`Volume::end_read`]: crate::volume::Volume::end_read
/// [`Volume::take_read`]: crate::volume::Volume::take_read
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Token(pub u32);

/// Values of requests by their tokens.
#[derive(Debug)]
pub(crate) struct ByToken<T>(Vec<Option<T>>);

impl<T> ByToken<T> {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds the value of a request that has none.
    ///
    /// # Panics
    ///
    /// If the token is in use.
    pub(crate) fn insert(&mut self, token: Token, value: T) {
        let index = token.0 as usize;
        if self.0.len() <= index {
            self.0.resize_with(index + 1, || None);
        }
        let before = self.0[index].replace(value);
        assert!(before.is_none(), "{token:?} is used again before its request has ended");
    }

    pub(crate) fn get(&self, token: Token) -> Option<&T> {
        self.0.get(token.0 as usize)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, token: Token) -> Option<&mut T> {
        self.0.get_mut(token.0 as usize)?.as_mut()
    }

    pub(crate) fn remove(&mut self, token: Token) -> Option<T> {
        self.0.get_mut(token.0 as usize)?.take()
    }

    /// Takes all values, in the order of their tokens.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = (Token, T)> {
        let all = core::mem::take(&mut self.0).into_iter().zip(0..);
        all.filter_map(|(value, token)| Some((Token(token), value?)))
    }
}
