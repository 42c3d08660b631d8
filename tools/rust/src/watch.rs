// SPDX-License-Identifier: LGPL-2.1-or-later
//! This file has the calls that read while others write: watches and snapshots, of devices only.

use crate::{check, ffi, Error, Result, Store, Type};
use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::os::raw::{c_int, c_void};
use std::os::unix::io::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::{ptr, slice};

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

/// A change of a name that a watch reports. `old` is the version before, `None` if there was none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameChange {
    Set { seq: u64, name: Vec<u8>, kind: Type, version: u64, old: Option<u64> },
    Remove { seq: u64, name: Vec<u8>, old: Option<u64> },
    /// The reader was too slow: so many changes, up to number `seq`, were dropped.
    Lost { seq: u64, changes: u64 },
}

/// The changes of names, once each one is durable. It ends when the store is detached. A read takes
/// all changes that wait, so poll the descriptor only after as many calls as there are `pending()`.
pub struct NameWatch {
    fd: OwnedFd,
    pending: VecDeque<NameChange>,
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

    /// The changes of the names that begin with a prefix. At most `entries` changes wait for the reader,
    /// 1024 for 0.
    pub fn watch_names(&self, prefix: impl AsRef<[u8]>, entries: u32) -> Result<NameWatch> {
        let prefix = prefix.as_ref();
        // SAFETY: the handle and the prefix are valid during the call
        let fd = check(unsafe {
            ffi::crabtree_watch_names(self.handle, prefix.as_ptr(), prefix.len() as u32, entries)
        })?;
        // SAFETY: the descriptor is new, and nothing else has it
        Ok(NameWatch { fd: unsafe { OwnedFd::from_raw_fd(fd) }, pending: VecDeque::new() })
    }
}

/// Reads until changes are there: 0 once the store is detached and all were read
fn wait(mut read: impl FnMut() -> c_int) -> Result<c_int> {
    loop {
        match check(read()) {
            Err(Error(EINTR)) => (),
            Err(Error(ENODEV)) => return Ok(0),
            result => return result,
        }
    }
}

extern "C" fn collect(change: *const ffi::NameChange, list: *mut c_void) {
    // SAFETY: the library calls this with a change, which has the bytes of its name, and with the list of next()
    let (raw, name, list) = unsafe {
        let text = ptr::addr_of!((*change).name).cast();
        (&*change, slice::from_raw_parts(text, (*change).name_bytes.into()), &mut *list.cast::<VecDeque<NameChange>>())
    };
    let (seq, old) = (raw.seq, (raw.flags & EXISTED != 0).then_some(raw.old));
    list.push_back(match raw.verb {
        _ if raw.flags & LOST != 0 => NameChange::Lost { seq, changes: raw.value },
        DELETE => NameChange::Remove { seq, name: name.to_vec(), old },
        _ => NameChange::Set { seq, name: name.to_vec(), kind: Type::new(raw.kind.into()), version: raw.value, old },
    });
}

impl NameWatch {
    /// How many changes were read and not yet returned.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }
}

impl AsRawFd for NameWatch {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

impl Iterator for NameWatch {
    type Item = Result<NameChange>;

    /// Waits for the next change.
    fn next(&mut self) -> Option<Self::Item> {
        if self.pending.is_empty() {
            let (fd, list) = (self.fd.as_raw_fd(), ptr::addr_of_mut!(self.pending));
            // SAFETY: collect() is of this list, which nothing else uses during the call
            let read = || unsafe { ffi::crabtree_watch_names_read(fd, collect, list.cast()) };
            if let Err(error) = wait(read) {
                return Some(Err(error));
            }
        }
        self.pending.pop_front().map(Ok)
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
        let fd = self.fd.as_raw_fd();
        // SAFETY: the library writes one change at most
        let count = match wait(|| unsafe { ffi::crabtree_watch_read(fd, &mut raw, 1) }) {
            Err(error) => return Some(Err(error)),
            Ok(count) => count,
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

    /// A descriptor that has bytes as the one of a watch would
    fn descriptor(name: &str, bytes: &[u8]) -> OwnedFd {
        let path = std::env::temp_dir().join(format!("crabtree-{name}-{}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        file.into()
    }

    #[test]
    fn changes_of_names_are_those_of_the_descriptor() {
        let mut bytes = Vec::new();
        for (words, verb, tail, name) in [
            ([1u64, 7, 0], 1u64, [48u8, 0, 5, 5], "plc/a"),
            ([2, 0, 7], 1 << 32 | 3, [48, 0, 1, 0], "b"),
            ([9, 6, 0], 2 << 32, [48, 0, 0, 0], ""),
        ] {
            bytes.extend(words.iter().chain([&verb]).flat_map(|word| word.to_le_bytes()));
            bytes.extend(tail);
            bytes.extend(name.as_bytes());
            bytes.resize((bytes.len() + 47) / 48 * 48, 0);
        }
        let watch = NameWatch { fd: descriptor("names", &bytes), pending: VecDeque::new() };
        let want = [
            NameChange::Set { seq: 1, name: b"plc/a".to_vec(), kind: Type::U32, version: 7, old: None },
            NameChange::Remove { seq: 2, name: b"b".to_vec(), old: Some(7) },
            NameChange::Lost { seq: 9, changes: 6 },
        ];
        assert_eq!(watch.map(Result::unwrap).collect::<Vec<_>>(), want);
    }

    #[test]
    fn changes_are_those_of_the_descriptor() {
        let raw = [[1, 5, 50, 0, 1], [2, 5, 60, 50, 1 << 32 | 1], [3, 5, 0, 60, 1 << 32 | 3], [9, 0, 6, 0, 2 << 32]];
        let bytes: Vec<u8> = raw.iter().flatten().flat_map(|word: &u64| word.to_le_bytes()).collect();
        let watch = Watch { fd: descriptor("changes", &bytes) };
        let want = [
            Change::Insert { seq: 1, key: 5, value: 50, old: None },
            Change::Insert { seq: 2, key: 5, value: 60, old: Some(50) },
            Change::Delete { seq: 3, key: 5, old: Some(60) },
            Change::Lost { seq: 9, changes: 6 },
        ];
        assert_eq!(watch.map(Result::unwrap).collect::<Vec<_>>(), want);
    }

    #[test]
    fn a_signal_does_not_end_a_watch_and_the_end_of_the_store_does() {
        let mut reads = [-EINTR, 3, -ENODEV].into_iter();
        assert_eq!(wait(|| reads.next().unwrap()), Ok(3));
        assert_eq!(wait(|| reads.next().unwrap()), Ok(0));
    }
}
