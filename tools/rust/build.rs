// SPDX-License-Identifier: LGPL-2.1-or-later
//! This file finds libcrabtree: in CRABTREE_LIB_DIR, or where the linker looks.

fn main() {
    println!("cargo:rerun-if-env-changed=CRABTREE_LIB_DIR");
    if let Ok(dir) = std::env::var("CRABTREE_LIB_DIR") {
        println!("cargo:rustc-link-search=native={dir}");
    }
    println!("cargo:rustc-link-lib=dylib=crabtree");
}
