// SPDX-License-Identifier: LGPL-2.1-or-later
//! This file declares libcrabtree: the structures of <linux/crabtree.h> and the calls.
//!
//! Invariant: the fields are those of the header, in its order; a test compares the sizes. The
//! library may be newer and have fields after them: it writes no more than the size that it gets.

use std::os::raw::{c_char, c_int, c_uint, c_void};

#[repr(C)]
pub struct Handle {
    _private: [u8; 0],
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Record {
    pub key: u64,
    pub value: u64,
}

#[repr(C)]
#[derive(Default)]
pub struct Cursor {
    pub next: u64,
    pub end: u64,
    pub done: bool,
    pub reverse: bool,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Entry {
    pub key: u64,
    pub version: u64,
    pub bytes: u32,
    pub status: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CommitOp {
    pub verb: u32,
    pub flags: u32,
    pub key: u64,
    pub value: u64,
    pub bytes: u32,
    pub name_bytes: u32,
    pub version: u64,
    pub kind: u32,
    pub existed: u32,
    pub status: i32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Default)]
pub struct Change {
    pub seq: u64,
    pub key: u64,
    pub value: u64,
    pub old: u64,
    pub verb: u32,
    pub flags: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Counter {
    pub name: [c_char; 16],
    pub value: u64,
}

#[repr(C)]
pub struct Info {
    pub size: u32,
    pub flags: u32,
    pub state: u32,
    pub durability: u32,
    pub model: u32,
    pub version: u32,
    pub uuid: [u8; 16],
    pub label: [c_char; 32],
    pub engine: [c_char; 16],
    pub layout: [c_char; 16],
    pub region: [c_char; 64],
    pub reason: [c_char; 128],
    pub region_bytes: u64,
    pub leaf_bytes: u64,
    pub leaves: u64,
    pub leaves_used: u64,
    pub leaves_bad: u64,
    pub records: u64,
    pub capacity: u64,
    pub feature_compat: u64,
    pub feature_ro_compat: u64,
    pub feature_incompat: u64,
    pub dram_bytes: u64,
    pub attach_ns: u64,
    pub lines: u64,
    pub fences: u64,
    pub prepare_lines: u64,
    pub prepare_fences: u64,
    pub inserts: u64,
    pub updates: u64,
    pub deletes: u64,
    pub searches: u64,
    pub splits: u64,
    pub unlinks: u64,
    pub repairs: u64,
    pub orders: u64,
    pub lines_bound: u64,
    pub counters: [Counter; 8],
    pub options: [c_char; 192],
    pub keeps: u32,
    pub reserved: u32,
}

#[repr(C)]
pub struct Check {
    pub size: u32,
    pub flags: u32,
    pub leaves: u64,
    pub records: u64,
    pub errors: u64,
    pub first_offset: u64,
    pub first: [c_char; 96],
}

#[repr(C)]
pub struct Format {
    pub size: u32,
    pub flags: u32,
    pub leaf_bytes: u32,
    pub reserved: u32,
    pub engine: [c_char; 16],
    pub layout: [c_char; 16],
    pub label: [c_char; 32],
    pub uuid: [u8; 16],
}

#[repr(C)]
pub struct Named {
    pub name: *const u8,
    pub name_bytes: u32,
    pub kind: u32,
    pub value: *mut u8,
    pub capacity: u32,
    pub bytes: u32,
    pub version: u64,
}

#[repr(C)]
pub struct Name {
    pub version: u64,
    pub bytes: u32,
    pub status: i32,
    pub entry_bytes: u16,
    pub name_bytes: u8,
    pub kind: u8,
    pub name: [u8; 4],
}

#[repr(C)]
pub struct NameChange {
    pub seq: u64,
    pub value: u64,
    pub old: u64,
    pub verb: u32,
    pub flags: u32,
    pub entry_bytes: u16,
    pub name_bytes: u8,
    pub kind: u8,
    pub name: [u8; 4],
}

#[repr(C)]
pub struct Names {
    pub size: u32,
    pub flags: u32,
    pub start: u64,
    pub end: u64,
    pub start_bytes: u32,
    pub end_bytes: u32,
    pub buffer: u64,
    pub capacity: u32,
    pub used: u32,
    pub count: u32,
    pub more: u32,
}

/// A structure of zeros.
pub fn zeroed<T: Zeros>() -> T {
    // SAFETY: zeros are a value of these types
    unsafe { std::mem::zeroed() }
}

/// The structures of integers and pointers, for which zeros are a value.
pub trait Zeros {}
impl Zeros for Info {}
impl Zeros for Check {}
impl Zeros for Format {}
impl Zeros for Named {}
impl Zeros for Names {}

extern "C" {
    pub fn crabtree_open(ct: *mut *mut Handle, path: *const c_char, flags: c_uint) -> c_int;
    pub fn crabtree_close(ct: *mut Handle) -> c_int;
    pub fn crabtree_sync(ct: *mut Handle) -> c_int;
    pub fn crabtree_reason(ct: *mut Handle, buf: *mut c_char, len: usize);
    pub fn crabtree_info(ct: *mut Handle, info: *mut Info, size: usize) -> c_int;
    pub fn crabtree_insert(ct: *mut Handle, key: u64, value: u64, flags: c_uint, existed: *mut bool,
                           old_value: *mut u64) -> c_int;
    pub fn crabtree_swap(ct: *mut Handle, key: u64, expected: u64, value: u64, old_value: *mut u64) -> c_int;
    pub fn crabtree_add(ct: *mut Handle, key: u64, addend: u64, flags: c_uint, old_value: *mut u64) -> c_int;
    pub fn crabtree_search(ct: *mut Handle, key: u64, value: *mut u64) -> c_int;
    pub fn crabtree_seek(ct: *mut Handle, key: u64, flags: c_uint, record: *mut Record) -> c_int;
    pub fn crabtree_delete(ct: *mut Handle, key: u64, old_value: *mut u64) -> c_int;
    pub fn crabtree_delete_range(ct: *mut Handle, start: u64, end: u64, deleted: *mut u64, next: *mut u64) -> c_int;
    pub fn crabtree_cursor_init(cursor: *mut Cursor, start: u64, end: u64);
    pub fn crabtree_cursor_init_reverse(cursor: *mut Cursor, start: u64, end: u64);
    pub fn crabtree_cursor_read(ct: *mut Handle, cursor: *mut Cursor, records: *mut Record,
                                capacity: u32) -> c_int;
    pub fn crabtree_batch(ct: *mut Handle, ops: *mut crate::Op, count: u32, done: *mut u32) -> c_int;
    pub fn crabtree_commit(ct: *mut Handle, ops: *mut crate::Op, count: u32, failed: *mut u32) -> c_int;
    pub fn crabtree_commit_values(ct: *mut Handle, ops: *mut CommitOp, count: u32, failed: *mut u32) -> c_int;
    pub fn crabtree_put(ct: *mut Handle, key: u64, value: *const u8, bytes: u32, flags: c_uint,
                        version: *mut u64) -> c_int;
    pub fn crabtree_get(ct: *mut Handle, key: u64, value: *mut u8, capacity: u32, bytes: *mut u32,
                        version: *mut u64) -> c_int;
    pub fn crabtree_erase(ct: *mut Handle, key: u64, version: *const u64) -> c_int;
    pub fn crabtree_list(ct: *mut Handle, cursor: *mut Cursor, entries: *mut Entry, capacity: u32) -> c_int;
    pub fn crabtree_put_named(ct: *mut Handle, named: *mut Named, flags: c_uint) -> c_int;
    pub fn crabtree_get_named(ct: *mut Handle, named: *mut Named) -> c_int;
    pub fn crabtree_erase_named(ct: *mut Handle, name: *const u8, name_bytes: u32, version: *const u64) -> c_int;
    pub fn crabtree_names(ct: *mut Handle, range: *const Names,
                          each: extern "C" fn(*const Name, *mut c_void) -> c_int, arg: *mut c_void) -> c_int;
    pub fn crabtree_check(ct: *mut Handle, check: *mut Check, size: usize) -> c_int;
    pub fn crabtree_format(ct: *mut Handle, format: *mut Format, size: usize) -> c_int;
    pub fn crabtree_watch(ct: *mut Handle, start: u64, end: u64, entries: u32) -> c_int;
    pub fn crabtree_watch_read(fd: c_int, changes: *mut Change, capacity: u32) -> c_int;
    pub fn crabtree_watch_names(ct: *mut Handle, prefix: *const u8, prefix_bytes: u32, entries: u32) -> c_int;
    pub fn crabtree_watch_names_read(fd: c_int, each: extern "C" fn(*const NameChange, *mut c_void),
                                     arg: *mut c_void) -> c_int;
    pub fn crabtree_snapshot(ct: *mut Handle, snapshot: *mut *mut Handle) -> c_int;
    pub fn crabtree_strerror(err: c_int) -> *const c_char;
    pub fn crabtree_state_name(state: u32) -> *const c_char;
    pub fn crabtree_durability_name(durability: u32) -> *const c_char;
    pub fn crabtree_model_name(model: u32) -> *const c_char;
}
