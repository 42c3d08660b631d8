// SPDX-License-Identifier: LGPL-2.1-or-later
//! This file iterates over a range of keys.
//!
//! Invariant: keys ascend strictly, from the back they descend, until both meet. After an error the iteration goes on, behind the damaged range if
//! the library knows its end; otherwise it ends.

use crate::{check, ffi, Error, Result, Store};
use std::ops::{Bound, RangeBounds, RangeInclusive};

const RECORDS: usize = 256;

/// A scan from one end of the range.
struct End {
    cursor: ffi::Cursor,
    records: Vec<ffi::Record>,
    at: usize,
}

/// The records of a range, in the order of their keys; `rev()` reverses it. Not a snapshot.
pub struct Range<'a> {
    store: &'a Store,
    left: RangeInclusive<u64>,
    front: End,
    back: End,
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
        Range { store: self, left, front, back }
    }
}

impl End {
    fn new(init: unsafe extern "C" fn(*mut ffi::Cursor, u64, u64), keys: &RangeInclusive<u64>) -> End {
        let mut cursor = ffi::Cursor::default();
        // SAFETY: the pointer is valid during the call
        unsafe { init(&mut cursor, *keys.start(), *keys.end()) };
        End { cursor, records: Vec::new(), at: 0 }
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
            self.cursor.done |= self.cursor.next == before;
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

impl Iterator for Range<'_> {
    type Item = Result<(u64, u64)>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.front.next(self.store)?;
        if let Ok((key, _)) = found {
            if !self.left.contains(&key) {
                return None;
            }
            self.left = between(key.checked_add(1), Some(*self.left.end()));
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
        }
        Some(found)
    }
}
