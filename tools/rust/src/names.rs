// SPDX-License-Identifier: LGPL-2.1-or-later
//! This file has the calls for variables: typed values of up to 64 KiB under names, in a store that was
//! formatted for them. A name is any bytes, 1 to 240 of them.

use crate::blob::{BLOB_MAX, EMSGSIZE, IF_VERSION, ROOM};
use crate::{check, ffi, found, Error, Result, Store, CREATE, REPLACE};
use std::os::raw::{c_int, c_void};
use std::{ptr, slice};

const PREFIX: u32 = 2;

/// The type of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Bytes,
    Text,
    Bool,
    U8,
    U16,
    U32,
    U64,
    I64,
    F64,
    /// One of a newer version
    Other(u32),
}

const TYPES: [Type; 9] =
    [Type::Bytes, Type::Text, Type::Bool, Type::U8, Type::U16, Type::U32, Type::U64, Type::I64, Type::F64];

impl Type {
    pub(crate) fn new(number: u32) -> Type {
        TYPES.get(number as usize).copied().unwrap_or(Type::Other(number))
    }

    pub(crate) fn number(self) -> u32 {
        match self {
            Type::Other(number) => number,
            known => TYPES.iter().position(|&one| one == known).unwrap_or(0) as u32,
        }
    }
}

/// A typed value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Bytes(Vec<u8>),
    Text(String),
    Bool(bool),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    I64(i64),
    F64(f64),
    /// Bytes that are no value of their type, such as a text that is not UTF-8, or those of a newer type
    Other(Type, Vec<u8>),
}

macro_rules! from {
    ($($from:ty => $to:ident),*) => {
        $(impl From<$from> for Value {
            fn from(value: $from) -> Value {
                Value::$to(value.into())
            }
        })*
    };
}

from! { &[u8] => Bytes, Vec<u8> => Bytes, &str => Text, String => Text, bool => Bool, u8 => U8, u16 => U16,
    u32 => U32, u64 => U64, i64 => I64, f64 => F64 }

fn fixed<const N: usize>(data: &[u8]) -> Option<[u8; N]> {
    data.try_into().ok()
}

fn boolean(data: &[u8]) -> Option<bool> {
    match data {
        [byte @ 0..=1] => Some(*byte == 1),
        _ => None,
    }
}

impl Value {
    /// Its type.
    pub fn kind(&self) -> Type {
        match self {
            Value::Bytes(_) => Type::Bytes,
            Value::Text(_) => Type::Text,
            Value::Bool(_) => Type::Bool,
            Value::U8(_) => Type::U8,
            Value::U16(_) => Type::U16,
            Value::U32(_) => Type::U32,
            Value::U64(_) => Type::U64,
            Value::I64(_) => Type::I64,
            Value::F64(_) => Type::F64,
            Value::Other(kind, _) => *kind,
        }
    }

    pub(crate) fn encode(self) -> Vec<u8> {
        match self {
            Value::Bytes(data) | Value::Other(_, data) => data,
            Value::Text(text) => text.into_bytes(),
            Value::Bool(value) => vec![u8::from(value)],
            Value::U8(value) => vec![value],
            Value::U16(value) => value.to_le_bytes().to_vec(),
            Value::U32(value) => value.to_le_bytes().to_vec(),
            Value::U64(value) => value.to_le_bytes().to_vec(),
            Value::I64(value) => value.to_le_bytes().to_vec(),
            Value::F64(value) => value.to_le_bytes().to_vec(),
        }
    }

    fn decode(kind: Type, data: Vec<u8>) -> Value {
        let value = match kind {
            Type::Bytes => return Value::Bytes(data),
            Type::Text => std::str::from_utf8(&data).ok().map(Value::from),
            Type::Bool => boolean(&data).map(Value::Bool),
            Type::U8 => fixed(&data).map(u8::from_le_bytes).map(Value::U8),
            Type::U16 => fixed(&data).map(u16::from_le_bytes).map(Value::U16),
            Type::U32 => fixed(&data).map(u32::from_le_bytes).map(Value::U32),
            Type::U64 => fixed(&data).map(u64::from_le_bytes).map(Value::U64),
            Type::I64 => fixed(&data).map(i64::from_le_bytes).map(Value::I64),
            Type::F64 => fixed(&data).map(f64::from_le_bytes).map(Value::F64),
            Type::Other(_) => None,
        };
        value.unwrap_or(Value::Other(kind, data))
    }
}

/// A typed value, and its version: no other value of the store has it, now or later.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    pub value: Value,
    pub version: u64,
}

/// A name of a list. If the value is damaged, its length and its version are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameEntry {
    pub name: Vec<u8>,
    pub kind: Type,
    pub bytes: u32,
    pub version: u64,
    pub damaged: bool,
}

/// The names of a list. If names are damaged, which may be any, it has the others, then an EUCLEAN.
pub struct Names {
    list: std::vec::IntoIter<NameEntry>,
    error: Option<Error>,
}

/// Adds an entry to the list.
extern "C" fn collect(name: *const ffi::Name, list: *mut c_void) -> c_int {
    // SAFETY: the library calls this with an entry, which has the bytes of its name, and with the list of names()
    let (entry, name, list) = unsafe {
        let text = ptr::addr_of!((*name).name).cast();
        (&*name, slice::from_raw_parts(text, (*name).name_bytes.into()), &mut *list.cast::<Vec<NameEntry>>())
    };
    list.push(NameEntry {
        name: name.to_vec(),
        kind: Type::new(entry.kind.into()),
        bytes: entry.bytes,
        version: entry.version,
        damaged: entry.status != 0,
    });
    0
}

impl ffi::Named {
    fn new(name: &[u8]) -> ffi::Named {
        ffi::Named { name: name.as_ptr(), name_bytes: name.len() as u32, ..ffi::zeroed() }
    }
}

impl Store {
    fn set_flags(&self, name: &[u8], value: Value, flags: u32, version: u64) -> Result<u64> {
        let kind = value.kind().number();
        let mut data = value.encode();
        if data.len() > BLOB_MAX {
            return Err(Error(EMSGSIZE));
        }
        let mut named = ffi::Named {
            kind, version, value: data.as_mut_ptr(), bytes: data.len() as u32, ..ffi::Named::new(name)
        };
        // SAFETY: the handle and all pointers are valid during the call
        check(unsafe { ffi::crabtree_put_named(self.handle, &mut named, flags) }).map(|_| named.version)
    }

    /// Store a variable; returns its version. The type of a number is that of the variable: `12u32`.
    pub fn set(&self, name: impl AsRef<[u8]>, value: impl Into<Value>) -> Result<u64> {
        self.set_flags(name.as_ref(), value.into(), 0, 0)
    }

    /// Store a variable under a name that is not there, else EEXIST.
    pub fn set_create(&self, name: impl AsRef<[u8]>, value: impl Into<Value>) -> Result<u64> {
        self.set_flags(name.as_ref(), value.into(), CREATE, 0)
    }

    /// Store a variable under a name that is there, else ENOENT.
    pub fn set_replace(&self, name: impl AsRef<[u8]>, value: impl Into<Value>) -> Result<u64> {
        self.set_flags(name.as_ref(), value.into(), REPLACE, 0)
    }

    /// Store a variable if the present one has this version, else ESTALE, or ENOENT if there is none.
    pub fn set_if(&self, name: impl AsRef<[u8]>, value: impl Into<Value>, version: u64) -> Result<u64> {
        self.set_flags(name.as_ref(), value.into(), IF_VERSION, version)
    }

    /// The variable of a name; its checksum is verified.
    pub fn variable(&self, name: impl AsRef<[u8]>) -> Result<Option<Variable>> {
        let mut named = ffi::Named { bytes: ROOM as u32, ..ffi::Named::new(name.as_ref()) };
        loop {
            let mut data = vec![0; named.bytes as usize];
            named.value = data.as_mut_ptr();
            named.capacity = named.bytes;
            // SAFETY: the library writes at most the room that it is given
            let err = unsafe { ffi::crabtree_get_named(self.handle, &mut named) };
            if err == -EMSGSIZE {
                continue;
            }
            data.truncate(named.bytes as usize);
            let value = Value::decode(Type::new(named.kind), data);
            return found(err, Variable { value, version: named.version });
        }
    }

    fn remove_version(&self, name: &[u8], version: *const u64) -> Result<bool> {
        // SAFETY: the handle and the name are valid during the call, and the version is so or null
        Store::erased(unsafe {
            ffi::crabtree_erase_named(self.handle, name.as_ptr(), name.len() as u32, version)
        })
    }

    /// Remove a name and its variable; returns whether it was there.
    pub fn remove(&self, name: impl AsRef<[u8]>) -> Result<bool> {
        self.remove_version(name.as_ref(), ptr::null())
    }

    /// The same if the variable has this version, else ESTALE.
    pub fn remove_if(&self, name: impl AsRef<[u8]>, version: u64) -> Result<bool> {
        self.remove_version(name.as_ref(), &version)
    }

    /// The names that begin with a prefix, in ascending order of their bytes. Not a snapshot.
    pub fn names(&self, prefix: impl AsRef<[u8]>) -> Names {
        let (prefix, mut list) = (prefix.as_ref(), Vec::<NameEntry>::new());
        let range = ffi::Names {
            flags: PREFIX, end: prefix.as_ptr() as u64, end_bytes: prefix.len() as u32, ..ffi::zeroed()
        };
        // SAFETY: all pointers are valid during the call, and collect() is of this list
        let err = unsafe { ffi::crabtree_names(self.handle, &range, collect, ptr::addr_of_mut!(list).cast()) };
        Names { list: list.into_iter(), error: check(err).err() }
    }
}

impl Iterator for Names {
    type Item = Result<NameEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        self.list.next().map(Ok).or_else(|| self.error.take().map(Err))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_other_versions() {
        for (number, data) in [(9, "abc"), (5, "abc"), (2, "\u{2}"), (2, ""), (8, "seven b")] {
            let value = Value::decode(Type::new(number), data.into());
            assert_eq!(value, Value::Other(Type::new(number), data.into()));
            assert_eq!((value.kind().number(), value.encode()), (number, data.into()));
        }
        assert_eq!(Value::decode(Type::U16, vec![1, 2]), Value::U16(0x201));
    }
}
