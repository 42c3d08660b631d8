// SPDX-License-Identifier: LGPL-2.1-or-later
//! This file iterates over a range of keys.
//!
//! Invariant: keys ascend strictly, from the back they descend, until both meet. After an error about a damaged range
//! the iteration goes on after that range; after any other error it ends.

use crate::{check, ffi, Error, Result, Store, EUCLEAN};
use std::ops::{Bound, RangeBounds, RangeInclusive};

const RECORDS: usize = 256;

/// A scan from one end of the range.
struct End {
    cursor: ffi::Cursor,
    records: Vec<ffi::Record>,
    at: usize,
    damaged: Option<RangeInclusive<u64>>,
}

/// The records of a range, in the order of their keys; `rev()` reverses it. Not a snapshot. After an EUCLEAN
/// the iteration goes on after the range that [`Range::damaged`] has.
pub struct Range<'a> {
    store: &'a Store,
    left: RangeInclusive<u64>,
    front: End,
    back: End,
    damaged: Option<RangeInclusive<u64>>,
}

/// The keys that a cursor left out after an error, from `before` on; none if it did not move.
pub(crate) fn left_out(cursor: &ffi::Cursor, before: u64, error: Error) -> Option<RangeInclusive<u64>> {
    if error != Error(EUCLEAN) || (cursor.next == before && !cursor.done) {
        return None;
    }
    Some(match (cursor.reverse, cursor.done) {
        (false, true) => before..=cursor.end,
        (false, false) => before..=cursor.next - 1,
        (true, true) => cursor.end..=before,
        (true, false) => cursor.next + 1..=before,
    })
}

fn between(start: Option<u64>, end: Option<u64>) -> RangeInclusive<u64> {
    let (start, end) = start.zip(end).unwrap_or((1, 0));
    start..=end
}

impl Store {
    /// The records whose keys are in a range.
    pub fn range(&self, keys: impl RangeBounds<u64>) -> Range<'_> {
        let start = match keys.start_bound() {
            Bound::Included(&key) => Some(key),
            Bound::Excluded(&key) => key.checked_add(1),
            Bound::Unbounded => Some(0),
        };
        let end = match keys.end_bound() {
            Bound::Included(&key) => Some(key),
            Bound::Excluded(&key) => key.checked_sub(1),
            Bound::Unbounded => Some(u64::MAX),
        };
        let left = between(start, end);
        let (front, back) = (End::new(ffi::crabtree_cursor_init, &left), End::new(ffi::crabtree_cursor_init_reverse, &left));
        Range { store: self, left, front, back, damaged: None }
    }
}

impl End {
    fn new(init: unsafe extern "C" fn(*mut ffi::Cursor, u64, u64), keys: &RangeInclusive<u64>) -> End {
        let mut cursor = ffi::Cursor::default();
        // SAFETY: the pointer is valid during the call
        unsafe { init(&mut cursor, *keys.start(), *keys.end()) };
        End { cursor, records: Vec::new(), at: 0, damaged: None }
    }

    fn read(&mut self, store: &Store) -> Result<()> {
        self.records.resize(RECORDS, ffi::Record::default());
        self.at = 0;
        // SAFETY: the library writes at most RECORDS records
        let count = check(unsafe {
            ffi::crabtree_cursor_read(store.handle, &mut self.cursor, self.records.as_mut_ptr(), RECORDS as u32)
        });
        self.records.truncate(count.unwrap_or(0) as usize);
        count.map(|_| ())
    }

    fn read_or_end(&mut self, store: &Store) -> Result<()> {
        let before = self.cursor.next;
        self.read(store).map_err(|error: Error| {
            self.damaged = left_out(&self.cursor, before, error);
            self.cursor.done |= self.damaged.is_none();
            error
        })
    }

    fn next(&mut self, store: &Store) -> Option<Result<(u64, u64)>> {
        if self.at == self.records.len() {
            if let Err(error) = self.read_or_end(store) {
                return Some(Err(error));
            }
        }
        let record = self.records.get(self.at)?;
        self.at += 1;
        Some(Ok((record.key, record.value)))
    }
}

impl Range<'_> {
    /// The keys that the last error is about, from the lowest to the highest; none if it was not EUCLEAN.
    pub fn damaged(&self) -> Option<RangeInclusive<u64>> {
        self.damaged.clone()
    }
}

impl Iterator for Range<'_> {
    type Item = Result<(u64, u64)>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.front.next(self.store)?;
        if let Ok((key, _)) = found {
            if !self.left.contains(&key) {
                return None;
            }
            self.left = between(key.checked_add(1), Some(*self.left.end()));
        } else {
            self.damaged = self.front.damaged.take();
        }
        Some(found)
    }
}

impl DoubleEndedIterator for Range<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let found = self.back.next(self.store)?;
        if let Ok((key, _)) = found {
            if !self.left.contains(&key) {
                return None;
            }
            self.left = between(Some(*self.left.start()), key.checked_sub(1));
        } else {
            self.damaged = self.back.damaged.take();
        }
        Some(found)
    }
}
