// SPDX-License-Identifier: LGPL-2.1-or-later
//! This file makes the operations of a batch or a commit: one function for each verb and each condition.

use crate::{check, Result};

pub(crate) const BATCH_MAX: usize = 4096;

const INSERT: u32 = 1;
const SEARCH: u32 = 2;
const DELETE: u32 = 3;
const CREATE: u32 = 1;
const REPLACE: u32 = 2;
const SWAP: u32 = 4;
const ADD: u32 = 8;

/// An operation of a batch or a commit, and its result afterwards: struct crabtree_batch_op.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Op {
    verb: u32,
    flags: u32,
    key: u64,
    value: u64,
    old_value: u64,
    status: i32,
    existed: u32,
}

impl Op {
    /// Store a value; the result is the old value, 0 if there was none.
    pub fn insert(key: u64, value: u64) -> Op {
        Op { verb: INSERT, key, value, ..Op::default() }
    }

    /// Replace a value if it is the expected one, else the result is ESTALE.
    pub fn swap(key: u64, expected: u64, value: u64) -> Op {
        Op { verb: INSERT, flags: SWAP, key, value, old_value: expected, ..Op::default() }
    }

    /// Add to a value, modulo 2^64; the result is the value before, 0 if there was none.
    pub fn add(key: u64, addend: u64) -> Op {
        Op { verb: INSERT, flags: ADD, key, value: addend, ..Op::default() }
    }

    /// The value of a key.
    pub fn search(key: u64) -> Op {
        Op { verb: SEARCH, key, ..Op::default() }
    }

    /// Remove a key; the result is the value that it had.
    pub fn delete(key: u64) -> Op {
        Op { verb: DELETE, key, ..Op::default() }
    }

    /// In a commit: the key is absent, else EEXIST.
    pub fn if_absent(self) -> Op {
        Op { flags: self.flags | CREATE, ..self }
    }

    /// In a commit: the key exists, else ENOENT.
    pub fn if_exists(self) -> Op {
        Op { flags: self.flags | REPLACE, ..self }
    }

    /// In a commit: the key has this value, else ESTALE, or ENOENT without the key.
    pub fn if_value(self, value: u64) -> Op {
        Op { flags: self.flags | SWAP, old_value: value, ..self }
    }

    /// Its result, after [`crate::Store::batch`] or [`crate::Store::commit`].
    pub fn result(&self) -> Result<u64> {
        check(self.status).map(|_| if self.verb == SEARCH { self.value } else { self.old_value })
    }
}
