// SPDX-License-Identifier: LGPL-2.1-or-later
//! This file has the calls for a store as a whole: its properties, CHECK and FORMAT.

use crate::{check, ffi, Error, Result, Store, EINVAL};
use std::ffi::CStr;
use std::mem::size_of;
use std::os::raw::c_char;

/// Properties of a store, and its counters since attach: the fields of struct crabtree_info.
#[derive(Clone, Debug)]
pub struct Info {
    pub state: String,
    pub durability: String,
    pub model: String,
    /// Enum crabtree_keeps: whether the region keeps the model
    pub keeps: u32,
    /// Of the media format
    pub version: u32,
    pub uuid: [u8; 16],
    pub label: String,
    pub engine: String,
    pub layout: String,
    pub region: String,
    pub reason: String,
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
    /// Those of the engine itself
    pub counters: Vec<(String, u64)>,
    /// Of the engine: "name=value name=value"
    pub options: String,
}

/// What CHECK found: broken invariants, and the first of them.
#[derive(Clone, Debug)]
pub struct Damage {
    pub errors: u64,
    pub first_offset: u64,
    pub first: String,
}

/// Options of FORMAT; the default is an empty label and the default engine.
#[derive(Clone, Debug, Default)]
pub struct FormatOptions<'a> {
    pub label: &'a str,
    pub engine: &'a str,
    pub layout: &'a str,
    /// 0: the default
    pub leaf_bytes: u32,
    /// Over the store or the other data that is there
    pub force: bool,
    /// For values of up to 64 KiB: [`Store::put`]
    pub blobs: bool,
    /// For [`Store::commit`], or, with blobs or names, [`Store::commit_values`]
    pub commits: bool,
    /// For variables: [`Store::set`]
    pub names: bool,
}

/// The text of a field, up to its end.
fn text(field: &[c_char]) -> String {
    let bytes: Vec<u8> = field.iter().map(|&c| c as u8).take_while(|&c| c != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A name that the library returns.
fn name(constant: *const c_char) -> String {
    // SAFETY: the library returns constant strings
    unsafe { CStr::from_ptr(constant) }.to_string_lossy().into_owned()
}

/// Put a text into a field, with its end.
fn set(field: &mut [c_char], text: &str) -> Result<()> {
    if text.len() >= field.len() || text.contains('\0') {
        return Err(Error(EINVAL));
    }
    for (to, from) in field.iter_mut().zip(text.bytes()) {
        *to = from as c_char;
    }
    Ok(())
}

impl Store {
    fn info_raw(&self) -> Result<ffi::Info> {
        let mut info: ffi::Info = ffi::zeroed();
        // SAFETY: the handle is valid, and the library writes no more than the size
        check(unsafe { ffi::crabtree_info(self.handle, &mut info, size_of::<ffi::Info>()) })?;
        Ok(info)
    }

    /// Properties and counters.
    pub fn info(&self) -> Result<Info> {
        let raw = self.info_raw()?;
        Ok(Info {
            // SAFETY: these functions take any number
            state: name(unsafe { ffi::crabtree_state_name(raw.state) }),
            durability: name(unsafe { ffi::crabtree_durability_name(raw.durability) }),
            model: name(unsafe { ffi::crabtree_model_name(raw.model) }),
            keeps: raw.keeps,
            version: raw.version,
            uuid: raw.uuid,
            label: text(&raw.label),
            engine: text(&raw.engine),
            layout: text(&raw.layout),
            region: text(&raw.region),
            reason: text(&raw.reason),
            region_bytes: raw.region_bytes,
            leaf_bytes: raw.leaf_bytes,
            leaves: raw.leaves,
            leaves_used: raw.leaves_used,
            leaves_bad: raw.leaves_bad,
            records: raw.records,
            capacity: raw.capacity,
            feature_compat: raw.feature_compat,
            feature_ro_compat: raw.feature_ro_compat,
            feature_incompat: raw.feature_incompat,
            dram_bytes: raw.dram_bytes,
            attach_ns: raw.attach_ns,
            lines: raw.lines,
            fences: raw.fences,
            prepare_lines: raw.prepare_lines,
            prepare_fences: raw.prepare_fences,
            inserts: raw.inserts,
            updates: raw.updates,
            deletes: raw.deletes,
            searches: raw.searches,
            splits: raw.splits,
            unlinks: raw.unlinks,
            repairs: raw.repairs,
            orders: raw.orders,
            lines_bound: raw.lines_bound,
            counters: raw.counters.iter().map(|c| (text(&c.name), c.value)).filter(|c| !c.0.is_empty()).collect(),
            options: text(&raw.options),
        })
    }

    /// Why the store is rejected or read-only; empty if it is neither.
    pub fn reason(&self) -> String {
        let mut buf = [0; 160];
        // SAFETY: the handle is valid, and the library writes at most the whole buffer
        unsafe { ffi::crabtree_reason(self.handle, buf.as_mut_ptr(), buf.len()) };
        text(&buf)
    }

    /// Verify every invariant: `None` if all hold.
    pub fn check(&self) -> Result<Option<Damage>> {
        let mut found: ffi::Check = ffi::zeroed();
        // SAFETY: the handle is valid, and the library writes no more than the size
        check(unsafe { ffi::crabtree_check(self.handle, &mut found, size_of::<ffi::Check>()) })?;
        Ok((found.errors != 0).then(|| Damage {
            errors: found.errors,
            first_offset: found.first_offset,
            first: text(&found.first),
        }))
    }

    /// Make an empty store.
    pub fn format(&self, options: &FormatOptions) -> Result<()> {
        let mut format: ffi::Format = ffi::zeroed();
        set(&mut format.label, options.label)?;
        set(&mut format.engine, options.engine)?;
        set(&mut format.layout, options.layout)?;
        format.leaf_bytes = options.leaf_bytes;
        for (bit, wanted) in [options.force, options.blobs, options.commits, options.names].into_iter().enumerate() {
            format.flags |= u32::from(wanted) << bit;
        }
        // SAFETY: the handle is valid, and the library reads no more than the size
        check(unsafe { ffi::crabtree_format(self.handle, &mut format, size_of::<ffi::Format>()) }).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::raw::c_int;

    type Call = unsafe extern "C" fn(*mut ffi::Handle, *mut u8, usize) -> c_int;

    /// The library refuses a structure that is shorter than that of the first version.
    fn is_known(store: &Store, call: Call, size: usize) -> bool {
        let mut room = [0u8; 4096];
        // SAFETY: the call takes a structure of any size, and there is room for it
        let (whole, shorter) = unsafe {
            (call(store.handle, room.as_mut_ptr(), size), call(store.handle, room.as_mut_ptr(), size - 9))
        };
        whole != -EINVAL && shorter == -EINVAL
    }

    #[test]
    fn structures_have_the_sizes_of_the_library() {
        let path = std::env::temp_dir().join(format!("crabtree-sizes-{}", std::process::id()));
        std::fs::write(&path, vec![0; 65536]).unwrap();
        let store = Store::open(format!("file:{}", path.display())).unwrap();
        // SAFETY: the calls differ in the type of a pointer only
        unsafe {
            let info: Call = std::mem::transmute(ffi::crabtree_info as *const ());
            let check: Call = std::mem::transmute(ffi::crabtree_check as *const ());
            let format: Call = std::mem::transmute(ffi::crabtree_format as *const ());
            store.format(&FormatOptions::default()).unwrap();
            assert!(is_known(&store, format, size_of::<ffi::Format>()));
            assert!(is_known(&store, info, size_of::<ffi::Info>()));
            assert!(is_known(&store, check, size_of::<ffi::Check>()));
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(size_of::<crate::Op>(), 40);
        assert_eq!(size_of::<ffi::Entry>(), 24);
        assert_eq!((size_of::<ffi::Named>(), size_of::<ffi::Name>(), size_of::<ffi::Names>()), (40, 24, 56));
    }
}
