// SPDX-License-Identifier: LGPL-2.1-or-later
//! An ordered index of 64-bit keys to 64-bit values in persistent memory, over libcrabtree.
//!
//! ```no_run
//! let store = crabtree::Store::open("/dev/crab0")?; // file:PATH: durable after close()
//! store.insert(16, 42)?; // durable when it has returned
//! assert_eq!(store.search(16)?, Some(42));
//! for record in store.range(16..=32) {
//!     let (key, value) = record?;
//!     println!("{key} {value}");
//! }
//! # Ok::<(), crabtree::Error>(())
//! ```
//!
//! Threads may share a store. A key that is not there is `None`; every other failure is an [`Error`].

mod blob;
mod ffi;
mod info;
mod names;
mod ops;
mod range;
mod values;
mod watch;

pub use blob::{Blob, Entries, Entry};
pub use info::{Damage, FormatOptions, Info};
pub use names::{NameEntry, Names, Type, Value, Variable};
pub use ops::Op;
pub use range::Range;
pub use values::ValueOp;
pub use watch::{Change, NameChange, NameWatch, Watch};

use std::ffi::{CStr, CString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const READONLY: u32 = 1;
const CREATE: u32 = 1;
const REPLACE: u32 = 2;
const GE: u32 = 1;
const LE: u32 = 2;

pub const ENOENT: i32 = 2;
pub const ESTALE: i32 = 116;
pub const EUCLEAN: i32 = 117;
const EINVAL: i32 = 22;

/// The highest key that can be stored.
pub const KEY_MAX: u64 = u64::MAX - 1;

/// A call that failed, by its errno.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error(pub i32);

/// The result of most calls.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        // SAFETY: the library returns a constant string for every number
        f.write_str(&unsafe { CStr::from_ptr(ffi::crabtree_strerror(self.0)) }.to_string_lossy())
    }
}

impl std::error::Error for Error {}

impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        std::io::Error::from_raw_os_error(error.0)
    }
}

fn check(err: i32) -> Result<i32> {
    if err < 0 {
        return Err(Error(-err));
    }
    Ok(err)
}

/// `None` for a key that is not there.
fn found<T>(err: i32, value: T) -> Result<Option<T>> {
    match check(err) {
        Ok(_) => Ok(Some(value)),
        Err(Error(ENOENT)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// An open store. It is closed when it is dropped; [`Store::close`] also returns an error.
pub struct Store {
    handle: *mut ffi::Handle,
}

// SAFETY: threads may share a handle of the library
unsafe impl Send for Store {}
unsafe impl Sync for Store {}

impl Store {
    fn open_flags(path: &Path, flags: u32) -> Result<Store> {
        let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| Error(EINVAL))?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: both pointers are valid during the call
        check(unsafe { ffi::crabtree_open(&mut handle, path.as_ptr(), flags) })?;
        Ok(Store { handle })
    }

    /// Open a device, or an image: `file:PATH`.
    pub fn open(path: impl AsRef<Path>) -> Result<Store> {
        Store::open_flags(path.as_ref(), 0)
    }

    /// The same for reading only.
    pub fn open_readonly(path: impl AsRef<Path>) -> Result<Store> {
        Store::open_flags(path.as_ref(), READONLY)
    }

    /// End the use of the store; the writes to an image are then in its file.
    pub fn close(self) -> Result<()> {
        let handle = self.handle;
        std::mem::forget(self);
        // SAFETY: the handle is valid, and nothing has it any more
        check(unsafe { ffi::crabtree_close(handle) }).map(|_| ())
    }

    fn insert_flags(&self, key: u64, value: u64, flags: u32) -> Result<Option<u64>> {
        let (mut existed, mut old) = (false, 0);
        // SAFETY: the handle and both pointers are valid during the call
        check(unsafe { ffi::crabtree_insert(self.handle, key, value, flags, &mut existed, &mut old) })?;
        Ok(existed.then_some(old))
    }

    /// Store a value; returns the old one.
    pub fn insert(&self, key: u64, value: u64) -> Result<Option<u64>> {
        self.insert_flags(key, value, 0)
    }

    /// Store a value under a key that is not there, else EEXIST.
    pub fn create(&self, key: u64, value: u64) -> Result<()> {
        self.insert_flags(key, value, CREATE).map(|_| ())
    }

    /// Store a value under a key that is there; returns the old value, or `None` without a change.
    pub fn replace(&self, key: u64, value: u64) -> Result<Option<u64>> {
        match self.insert_flags(key, value, REPLACE) {
            Err(Error(ENOENT)) => Ok(None),
            result => result,
        }
    }

    /// Replace the value of a key if it is the expected one. Returns the value before, which is
    /// `expected` if it was replaced, and `None` for a key that is not there.
    pub fn swap(&self, key: u64, expected: u64, value: u64) -> Result<Option<u64>> {
        let mut old = 0;
        // SAFETY: the handle and the pointer are valid during the call
        match unsafe { ffi::crabtree_swap(self.handle, key, expected, value, &mut old) } {
            err if err == -ESTALE => Ok(Some(old)),
            err => found(err, old),
        }
    }

    /// Add to the value of a key, modulo 2^64; a key that is not there has 0. Returns the value before.
    pub fn add(&self, key: u64, addend: u64) -> Result<u64> {
        let mut old = 0;
        // SAFETY: the handle and the pointer are valid during the call
        check(unsafe { ffi::crabtree_add(self.handle, key, addend, 0, &mut old) }).map(|_| old)
    }

    /// The value of a key.
    pub fn search(&self, key: u64) -> Result<Option<u64>> {
        let mut value = 0;
        // SAFETY: the handle and the pointer are valid during the call
        let err = unsafe { ffi::crabtree_search(self.handle, key, &mut value) };
        found(err, value)
    }

    /// Remove a key; returns the value that it had.
    pub fn delete(&self, key: u64) -> Result<Option<u64>> {
        let mut old = 0;
        // SAFETY: the handle and the pointer are valid during the call
        let err = unsafe { ffi::crabtree_delete(self.handle, key, &mut old) };
        found(err, old)
    }

    /// Remove all keys of a range; returns how many. Each delete is atomic, not all of them.
    pub fn delete_range(&self, keys: std::ops::RangeInclusive<u64>) -> Result<u64> {
        let mut deleted = 0;
        // SAFETY: the handle and the pointer are valid during the call, and the last one may be null
        let err = unsafe {
            ffi::crabtree_delete_range(self.handle, *keys.start(), *keys.end(), &mut deleted, std::ptr::null_mut())
        };
        check(err).map(|_| deleted)
    }

    fn seek(&self, key: u64, flags: u32) -> Result<Option<(u64, u64)>> {
        let mut record = ffi::Record::default();
        // SAFETY: the handle and the pointer are valid during the call
        let err = unsafe { ffi::crabtree_seek(self.handle, key, flags, &mut record) };
        found(err, (record.key, record.value))
    }

    /// The record with the lowest key that is not below this one.
    pub fn at_or_above(&self, key: u64) -> Result<Option<(u64, u64)>> {
        self.seek(key, GE)
    }

    /// The record with the highest key that is not above this one.
    pub fn at_or_below(&self, key: u64) -> Result<Option<(u64, u64)>> {
        self.seek(key, LE)
    }

    /// Do operations in one call for each 4096 of them; each has its own result afterwards. Operations
    /// on one key keep their order. The batch is not atomic: each operation is.
    pub fn batch(&self, ops: &mut [Op]) -> Result<()> {
        for part in ops.chunks_mut(ops::BATCH_MAX) {
            // SAFETY: the library writes to the operations of this part only
            check(unsafe {
                ffi::crabtree_batch(self.handle, part.as_mut_ptr(), part.len() as u32, std::ptr::null_mut())
            })?;
        }
        Ok(())
    }

    /// Do up to 64 operations, each on another key, all or none: also after a power cut, and for every
    /// reader. The store is one of commits. After an error none of them was done; the number is that of
    /// the operation that the error is about, or of all operations.
    pub fn commit(&self, ops: &mut [Op]) -> std::result::Result<(), (usize, Error)> {
        let mut failed = 0;
        // SAFETY: the library writes to these operations and the number only
        check(unsafe { ffi::crabtree_commit(self.handle, ops.as_mut_ptr(), ops.len() as u32, &mut failed) })
            .map(|_| ())
            .map_err(|error| (failed as usize, error))
    }

    /// Write an image to its file: durable until the next write. A device needs no sync.
    pub fn sync(&self) -> Result<()> {
        // SAFETY: the handle is valid
        check(unsafe { ffi::crabtree_sync(self.handle) }).map(|_| ())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // SAFETY: the handle is valid, and nothing has it any more
        unsafe { ffi::crabtree_close(self.handle) };
    }
}
