// SPDX-License-Identifier: LGPL-2.1-or-later
//! This file has the calls that read while others write: watches and snapshots, of devices only.

use crate::{check, ffi, Error, Result, Store};
use std::ops::RangeInclusive;
use std::os::unix::io::{AsRawFd, FromRawFd, OwnedFd, RawFd};

const DELETE: u32 = 3;
const EXISTED: u32 = 1;
const LOST: u32 = 2;
const EINTR: i32 = 4;
const ENODEV: i32 = 19;

/// A change that a watch reports. `old` is `None` if the key was not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Insert { seq: u64, key: u64, value: u64, old: Option<u64> },
    Delete { seq: u64, key: u64, old: Option<u64> },
    /// The reader was too slow: so many changes, up to number `seq`, were dropped.
    Lost { seq: u64, changes: u64 },
}

/// The changes of a range of keys, once each one is durable. It ends when the store is detached.
pub struct Watch {
    fd: OwnedFd,
}

impl Store {
    /// The store as of now, for reading, while others write to it. The error of its calls is ESTALE
    /// once the memory for old values was used up.
    pub fn snapshot(&self) -> Result<Store> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the handle and the pointer are valid during the call
        check(unsafe { ffi::crabtree_snapshot(self.handle, &mut handle) })?;
        Ok(Store { handle })
    }

    /// The changes of a range. At most `entries` changes wait for the reader, 1024 for 0.
    pub fn watch(&self, keys: RangeInclusive<u64>, entries: u32) -> Result<Watch> {
        // SAFETY: the handle is valid
        let fd = check(unsafe { ffi::crabtree_watch(self.handle, *keys.start(), *keys.end(), entries) })?;
        // SAFETY: the descriptor is new, and nothing else has it
        Ok(Watch { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }
}

impl AsRawFd for Watch {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl Iterator for Watch {
    type Item = Result<Change>;

    /// Waits for the next change.
    fn next(&mut self) -> Option<Self::Item> {
        let mut raw = ffi::Change::default();
        let count = loop {
            // SAFETY: the library writes one change at most
            match check(unsafe { ffi::crabtree_watch_read(self.fd.as_raw_fd(), &mut raw, 1) }) {
                Err(Error(EINTR)) => (),
                Err(Error(ENODEV)) => break 0,
                Err(error) => return Some(Err(error)),
                Ok(count) => break count,
            }
        };
        let old = (raw.flags & EXISTED != 0).then_some(raw.old);
        let (seq, key, value) = (raw.seq, raw.key, raw.value);
        (count != 0).then_some(Ok(match raw.verb {
            _ if raw.flags & LOST != 0 => Change::Lost { seq, changes: value },
            DELETE => Change::Delete { seq, key, old },
            _ => Change::Insert { seq, key, value, old },
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_those_of_the_descriptor() {
        let path = std::env::temp_dir().join(format!("crabtree-changes-{}", std::process::id()));
        let raw = [[1, 5, 50, 0, 1], [2, 5, 60, 50, 1 << 32 | 1], [3, 5, 0, 60, 1 << 32 | 3], [9, 0, 6, 0, 2 << 32]];
        let bytes: Vec<u8> = raw.iter().flatten().flat_map(|word: &u64| word.to_le_bytes()).collect();
        std::fs::write(&path, bytes).unwrap();
        let watch = Watch { fd: std::fs::File::open(&path).unwrap().into() };
        let want = [
            Change::Insert { seq: 1, key: 5, value: 50, old: None },
            Change::Insert { seq: 2, key: 5, value: 60, old: Some(50) },
            Change::Delete { seq: 3, key: 5, old: Some(60) },
            Change::Lost { seq: 9, changes: 6 },
        ];
        assert_eq!(watch.map(Result::unwrap).collect::<Vec<_>>(), want);
        std::fs::remove_file(&path).unwrap();
    }
}
