// SPDX-License-Identifier: LGPL-2.1-or-later
//! This file has the calls for blobs: values of up to 64 KiB, in a store that was formatted for them.

use crate::{check, ffi, found, range, Error, Result, Store, CREATE, ENOENT, REPLACE};
use std::ops::RangeInclusive;

pub(crate) const IF_VERSION: u32 = 4;
pub(crate) const BLOB_MAX: usize = 65536;
pub(crate) const ROOM: usize = 4096;
const ENTRIES: usize = 256;
pub(crate) const EMSGSIZE: i32 = 90;

/// A value, and its version: no other value of the store has it, now or later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    pub value: Vec<u8>,
    pub version: u64,
}

/// A key of a store of blobs. If the value is damaged, its length and its version are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub key: u64,
    pub bytes: u32,
    pub version: u64,
    pub damaged: bool,
}

/// The keys of a range in ascending order. Not a snapshot. After an EUCLEAN the iteration goes on after the range
/// that [`Entries::damaged`] has.
pub struct Entries<'a> {
    store: &'a Store,
    cursor: ffi::Cursor,
    read: Vec<ffi::Entry>,
    at: usize,
    damaged: Option<RangeInclusive<u64>>,
}

impl Store {
    fn put_flags(&self, key: u64, value: &[u8], flags: u32, mut version: u64) -> Result<u64> {
        if value.len() > BLOB_MAX {
            return Err(Error(EMSGSIZE));
        }
        // SAFETY: the handle and both pointers are valid during the call
        check(unsafe {
            ffi::crabtree_put(self.handle, key, value.as_ptr(), value.len() as u32, flags, &mut version)
        })
        .map(|_| version)
    }

    /// Store a value; returns its version.
    pub fn put(&self, key: u64, value: &[u8]) -> Result<u64> {
        self.put_flags(key, value, 0, 0)
    }

    /// Store a value under a key that is not there, else EEXIST.
    pub fn put_create(&self, key: u64, value: &[u8]) -> Result<u64> {
        self.put_flags(key, value, CREATE, 0)
    }

    /// Store a value under a key that is there, else ENOENT.
    pub fn put_replace(&self, key: u64, value: &[u8]) -> Result<u64> {
        self.put_flags(key, value, REPLACE, 0)
    }

    /// Store a value if the present one has this version, else ESTALE, or ENOENT if there is none.
    pub fn put_if(&self, key: u64, value: &[u8], version: u64) -> Result<u64> {
        self.put_flags(key, value, IF_VERSION, version)
    }

    /// The value of a key; its checksum is verified.
    pub fn get(&self, key: u64) -> Result<Option<Blob>> {
        let (mut bytes, mut version) = (ROOM as u32, 0);
        loop {
            let mut value = vec![0; bytes as usize];
            // SAFETY: the library writes at most the room that it is given
            let err = unsafe {
                ffi::crabtree_get(self.handle, key, value.as_mut_ptr(), value.len() as u32, &mut bytes, &mut version)
            };
            if err == -EMSGSIZE {
                continue;
            }
            value.truncate(bytes as usize);
            return found(err, Blob { value, version });
        }
    }

    pub(crate) fn erased(err: i32) -> Result<bool> {
        match check(err) {
            Err(Error(ENOENT)) => Ok(false),
            result => result.map(|_| true),
        }
    }

    /// Remove a key and its value; returns whether it was there.
    pub fn erase(&self, key: u64) -> Result<bool> {
        // SAFETY: the handle is valid, and the pointer may be null
        Store::erased(unsafe { ffi::crabtree_erase(self.handle, key, std::ptr::null()) })
    }

    /// The same if its value has this version, else ESTALE.
    pub fn erase_if(&self, key: u64, version: u64) -> Result<bool> {
        // SAFETY: the handle and the pointer are valid during the call
        Store::erased(unsafe { ffi::crabtree_erase(self.handle, key, &version) })
    }

    /// The keys of a range of a store of blobs.
    pub fn list(&self, keys: RangeInclusive<u64>) -> Entries<'_> {
        let mut cursor = ffi::Cursor::default();
        // SAFETY: the pointer is valid during the call
        unsafe { ffi::crabtree_cursor_init(&mut cursor, *keys.start(), *keys.end()) };
        Entries { store: self, cursor, read: Vec::new(), at: 0, damaged: None }
    }
}

impl Entries<'_> {
    /// The keys that the last error is about, from the lowest to the highest; none if it was not EUCLEAN.
    pub fn damaged(&self) -> Option<RangeInclusive<u64>> {
        self.damaged.clone()
    }

    fn read(&mut self) -> Result<()> {
        let before = self.cursor.next;
        self.read.resize(ENTRIES, ffi::Entry::default());
        self.at = 0;
        // SAFETY: the library writes at most ENTRIES entries
        let count = check(unsafe {
            ffi::crabtree_list(self.store.handle, &mut self.cursor, self.read.as_mut_ptr(), ENTRIES as u32)
        });
        self.read.truncate(count.unwrap_or(0) as usize);
        if let Err(error) = count {
            self.damaged = range::left_out(&self.cursor, before, error);
            self.cursor.done |= self.damaged.is_none();
        }
        count.map(|_| ())
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at == self.read.len() {
            if let Err(error) = self.read() {
                return Some(Err(error));
            }
        }
        let one = self.read.get(self.at)?;
        self.at += 1;
        Some(Ok(Entry { key: one.key, bytes: one.bytes, version: one.version, damaged: one.status != 0 }))
    }
}
