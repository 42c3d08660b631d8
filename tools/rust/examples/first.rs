// SPDX-License-Identifier: LGPL-2.1-or-later
//! This file is the example of the manual: a store in an image.

use crabtree::{FormatOptions, Op, Store};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).expect("first FILE");
    std::fs::write(&path, vec![0; 1 << 20])?;
    let store = Store::open(format!("file:{path}"))?;
    store.format(&FormatOptions { label: "first", ..Default::default() })?;
    store.insert(16, 42)?; // on a device: durable on return
    let mut ops = [Op::insert(17, 1), Op::search(16), Op::delete(17)];
    store.batch(&mut ops)?;
    println!("{:?} {:?}", store.search(16)?, ops[1].result()?);
    for record in store.range(16..32) {
        let (key, value) = record?;
        println!("{key} {value}");
    }
    store.close()?;
    Ok(())
}
