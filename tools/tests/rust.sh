#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The Rust crate on the shared library: its tests and its example. Nothing is downloaded.

# shellcheck source=tests/tap.sh
. "$2/tap.sh" || exit 1
crate=$2/../rust
suite 9
export PATH=/usr/bin:$PATH CARGO_TARGET_DIR=$out/rust CARGO_HOME=$out/rust/home
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0
export CRABTREE_LIB_DIR=$out LD_LIBRARY_PATH=$out RUSTFLAGS='-D warnings' TMPDIR=$tmp
options=(--offline --locked --quiet --manifest-path "$crate/Cargo.toml")

t "the structures are those of the library, and its changes are read" 0 '5 passed; 0 failed' - cargo test "${options[@]}" --lib
t "the crate passes its tests" 0 '9 passed; 0 failed' - cargo test "${options[@]}" --test store
t "so do its blobs" 0 '3 passed; 0 failed' - cargo test "${options[@]}" --test blob
t "so do its variables" 0 '4 passed; 0 failed' - cargo test "${options[@]}" --test names
t "so do commits of values" 0 '3 passed; 0 failed' - cargo test "${options[@]}" --test values
t "the example of its documentation compiles" 0 '1 passed; 0 failed' - cargo test "${options[@]}" --doc
run cargo run "${options[@]}" --example first r.img
cp out shown
printf '%s\n' 'Some(42) 42' '16 42' > want
same "the example runs" want shown
run cargo run "${options[@]}" --example names n.img
cp out shown
printf '%s\n' 'Some(U32(13))' 'line1/state Text 7' > want
same "so does that of names" want shown
truth "nothing was written into the sources" [ ! -e "$crate/target" ]
