// SPDX-License-Identifier: LGPL-2.1-or-later
//! This file has commits of values: of several blobs, or of several variables, all or none.

use crate::blob::{BLOB_MAX, EMSGSIZE, IF_VERSION};
use crate::{check, ffi, Error, Result, Store, Value, CREATE, EINVAL, REPLACE};

const PUT: u32 = 1;
const TEST: u32 = 2;
const ERASE: u32 = 3;
const COMMIT_MAX: usize = 64;

/// An operation of [`Store::commit_values`], and its result afterwards.
#[derive(Clone, Debug, Default)]
pub struct ValueOp {
    raw: ffi::CommitOp,
    name: Option<Vec<u8>>,
    value: Vec<u8>,
}

impl ValueOp {
    fn key(verb: u32, key: u64, value: &[u8]) -> ValueOp {
        let raw = ffi::CommitOp { verb, key, ..Default::default() };
        ValueOp { raw, value: value.to_vec(), name: None }
    }

    fn name(verb: u32, name: &[u8]) -> ValueOp {
        let raw = ffi::CommitOp { verb, ..Default::default() };
        ValueOp { raw, name: Some(name.to_vec()), value: Vec::new() }
    }

    /// Store a value of a store of blobs.
    pub fn put(key: u64, value: &[u8]) -> ValueOp {
        ValueOp::key(PUT, key, value)
    }

    /// Remove a key of a store of blobs, if it is there.
    pub fn erase(key: u64) -> ValueOp {
        ValueOp::key(ERASE, key, &[])
    }

    /// Nothing: for a condition on a key of a store of blobs.
    pub fn test(key: u64) -> ValueOp {
        ValueOp::key(TEST, key, &[])
    }

    /// Store a variable.
    pub fn set(name: impl AsRef<[u8]>, value: impl Into<Value>) -> ValueOp {
        let (mut op, value) = (ValueOp::name(PUT, name.as_ref()), value.into());
        op.raw.kind = value.kind().number();
        op.value = value.encode();
        op
    }

    /// Remove a name and its variable, if it is there.
    pub fn remove(name: impl AsRef<[u8]>) -> ValueOp {
        ValueOp::name(ERASE, name.as_ref())
    }

    /// Nothing: for a condition on a name.
    pub fn test_name(name: impl AsRef<[u8]>) -> ValueOp {
        ValueOp::name(TEST, name.as_ref())
    }

    /// The key is absent, else EEXIST.
    pub fn if_absent(mut self) -> ValueOp {
        self.raw.flags |= CREATE;
        self
    }

    /// The key exists, else ENOENT.
    pub fn if_exists(mut self) -> ValueOp {
        self.raw.flags |= REPLACE;
        self
    }

    /// The value has this version, else ESTALE, or ENOENT without the key.
    pub fn if_version(mut self, version: u64) -> ValueOp {
        self.raw.flags |= IF_VERSION;
        self.raw.version = version;
        self
    }

    /// After a commit: the new version of a value that it stored.
    pub fn version(&self) -> u64 {
        self.raw.version
    }

    /// After a commit: whether the key that it stored or removed was there before.
    pub fn existed(&self) -> bool {
        if self.raw.verb == ERASE { self.raw.status == 0 } else { self.raw.existed != 0 }
    }

    /// The error of an operation that no store can do.
    fn valid(&self) -> Result<()> {
        match &self.name {
            Some(name) if name.is_empty() => Err(Error(EINVAL)),
            _ if self.value.len() > BLOB_MAX => Err(Error(EMSGSIZE)),
            _ => Ok(()),
        }
    }

    /// The structure of the library, which has the addresses of this operation's bytes.
    fn raw(&self) -> ffi::CommitOp {
        let mut raw = self.raw;
        if let Some(name) = &self.name {
            raw.key = name.as_ptr() as u64;
            raw.name_bytes = name.len() as u32;
        }
        if raw.verb == PUT {
            raw.value = self.value.as_ptr() as u64;
        }
        raw.bytes = self.value.len() as u32;
        raw
    }
}

impl Store {
    /// Do up to 64 operations, each on another key or name, all or none: also after a power cut, and for
    /// every reader. The store is one of commits, and of blobs or names. After an error none of them was
    /// done; the number is that of the operation that the error is about, or of all operations.
    pub fn commit_values(&self, ops: &mut [ValueOp]) -> std::result::Result<(), (usize, Error)> {
        if ops.is_empty() || ops.len() > COMMIT_MAX {
            return Err((ops.len(), Error(EINVAL)));
        }
        for (number, op) in ops.iter().enumerate() {
            op.valid().map_err(|error| (number, error))?;
        }
        let (mut raws, mut failed) = (ops.iter().map(ValueOp::raw).collect::<Vec<_>>(), 0);
        // SAFETY: the addresses are valid during the call: it writes to the structures and the number only
        let err = unsafe {
            ffi::crabtree_commit_values(self.handle, raws.as_mut_ptr(), raws.len() as u32, &mut failed)
        };
        check(err).map_err(|error| (failed as usize, error))?;
        for (op, raw) in ops.iter_mut().zip(raws) {
            op.raw.version = raw.version;
            op.raw.existed = raw.existed;
            op.raw.status = raw.status;
        }
        Ok(())
    }
}
