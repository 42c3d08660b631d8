// SPDX-License-Identifier: LGPL-2.1-or-later
//! This file is the example of the manual for variables: a store of names in an image.

use crabtree::{FormatOptions, Store};

fn run(store: &Store) -> crabtree::Result<()> {
    let version = store.set("motor.hours", 12u32)?; // on a device: durable on return
    store.set_if("motor.hours", 13u32, version)?; // ESTALE if it has changed
    store.set("line1/state", "running")?;
    println!("{:?}", store.variable("motor.hours")?.map(|hours| hours.value));
    for entry in store.names("line1/") {
        let entry = entry?;
        println!("{} {:?} {}", String::from_utf8_lossy(&entry.name), entry.kind, entry.bytes);
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).expect("names FILE");
    std::fs::write(&path, vec![0; 8 << 20])?;
    let store = Store::open(format!("file:{path}"))?;
    store.format(&FormatOptions { names: true, ..Default::default() })?;
    run(&store)?;
    store.close()?;
    Ok(())
}
