// SPDX-License-Identifier: LGPL-2.1-or-later
//! This file has the images, the random numbers and the errors of the tests.

#![allow(dead_code)] // no test uses all of it

use crabtree::{FormatOptions, Store};
use std::path::PathBuf;

pub const EBADF: i32 = 9;
pub const EEXIST: i32 = 17;
pub const EINVAL: i32 = 22;
pub const EMSGSIZE: i32 = 90;
pub const EOPNOTSUPP: i32 = 95;

/// An image that is removed at the end.
pub struct Image(PathBuf);

impl Image {
    pub fn new(name: &str, size: usize) -> Image {
        let path = std::env::temp_dir().join(format!("crabtree-{name}-{}", std::process::id()));
        std::fs::write(&path, vec![0; size]).unwrap();
        Image(path)
    }

    pub fn url(&self) -> String {
        format!("file:{}", self.0.display())
    }

    pub fn open(&self) -> Store {
        Store::open(self.url()).unwrap()
    }

    pub fn store(&self, options: &FormatOptions) -> Store {
        let store = self.open();
        store.format(options).unwrap();
        store
    }

    /// The offset of some bytes.
    pub fn find(&self, text: &[u8]) -> usize {
        std::fs::read(&self.0).unwrap().windows(text.len()).position(|part| part == text).unwrap()
    }

    /// Changes one bit of each of these bytes, and opens the image for reading.
    pub fn damage(&self, offsets: &[usize]) -> Store {
        let mut bytes = std::fs::read(&self.0).unwrap();
        offsets.iter().for_each(|&at| bytes[at] ^= 1);
        std::fs::write(&self.0, bytes).unwrap();
        Store::open_readonly(self.url()).unwrap()
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The same numbers in each run.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}
