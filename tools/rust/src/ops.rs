// SPDX-License-Identifier: LGPL-2.1-or-later
//! This file makes the operations of a batch: one function for each verb.

use crate::{check, Result};

pub(crate) const BATCH_MAX: usize = 4096;

const INSERT: u32 = 1;
const SEARCH: u32 = 2;
const DELETE: u32 = 3;
const SWAP: u32 = 4;
const ADD: u32 = 8;

/// An operation of a batch, and its result afterwards: struct crabtree_batch_op.
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

    /// Its result, after [`crate::Store::batch`].
    pub fn result(&self) -> Result<u64> {
        check(self.status).map(|_| if self.verb == SEARCH { self.value } else { self.old_value })
    }
}
