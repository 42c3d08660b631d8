// SPDX-License-Identifier: LGPL-2.1-or-later
//! This file iterates over a range of keys.
//!
//! Invariant: keys ascend strictly. After an error the iteration goes on, behind the damaged range if
//! the library knows its end; otherwise it ends.

use crate::{check, ffi, Error, Result, Store};
use std::ops::{Bound, RangeBounds};

const RECORDS: usize = 256;

/// The records of a range, in the order of their keys. Not a snapshot.
pub struct Range<'a> {
    store: &'a Store,
    cursor: ffi::Cursor,
    records: Vec<ffi::Record>,
    at: usize,
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
        let (start, end) = start.zip(end).unwrap_or((1, 0));
        let mut cursor = ffi::Cursor::default();
        // SAFETY: the pointer is valid during the call
        unsafe { ffi::crabtree_cursor_init(&mut cursor, start, end) };
        Range { store: self, cursor, records: Vec::new(), at: 0 }
    }
}

impl Range<'_> {
    fn read(&mut self) -> Result<()> {
        self.records.resize(RECORDS, ffi::Record::default());
        self.at = 0;
        // SAFETY: the library writes at most RECORDS records
        let count = check(unsafe {
            ffi::crabtree_cursor_read(self.store.handle, &mut self.cursor, self.records.as_mut_ptr(), RECORDS as u32)
        });
        self.records.truncate(count.unwrap_or(0) as usize);
        count.map(|_| ())
    }

    fn read_or_end(&mut self) -> Result<()> {
        let before = self.cursor.next;
        self.read().map_err(|error: Error| {
            self.cursor.done |= self.cursor.next == before;
            error
        })
    }
}

impl Iterator for Range<'_> {
    type Item = Result<(u64, u64)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at == self.records.len() {
            if let Err(error) = self.read_or_end() {
                return Some(Err(error));
            }
        }
        let record = self.records.get(self.at)?;
        self.at += 1;
        Some(Ok((record.key, record.value)))
    }
}
