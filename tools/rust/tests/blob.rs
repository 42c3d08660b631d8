// SPDX-License-Identifier: LGPL-2.1-or-later
//! This file tests blobs on images of two engines, next to a BTreeMap.

use crabtree::{Blob, Error, FormatOptions, Store, ENOENT, ESTALE, KEY_MAX};
use std::collections::BTreeMap;
use std::path::PathBuf;

const EEXIST: i32 = 17;
const EMSGSIZE: i32 = 90;
const EOPNOTSUPP: i32 = 95;

fn image(name: &str, size: usize) -> PathBuf {
    let path = std::env::temp_dir().join(format!("crabtree-blob-{name}-{}", std::process::id()));
    std::fs::write(&path, vec![0; size]).unwrap();
    path
}

fn store(path: &std::path::Path, engine: &str, blobs: bool) -> Store {
    let store = Store::open(format!("file:{}", path.display())).unwrap();
    store.format(&FormatOptions { engine, blobs, ..Default::default() }).unwrap();
    store
}

fn same(store: &Store, model: &BTreeMap<u64, Blob>) {
    let listed: Vec<_> = store.list(0..=KEY_MAX).map(Result::unwrap).collect();
    assert_eq!(listed.len(), model.len());
    for (one, (&key, blob)) in listed.iter().zip(model) {
        assert_eq!((one.key, one.bytes as usize, one.version, one.damaged), (key, blob.value.len(), blob.version, false));
        assert_eq!(store.get(key).unwrap().as_ref(), Some(blob));
    }
}

fn step(store: &Store, model: &mut BTreeMap<u64, Blob>, number: u64) {
    let (key, value) = (number * 7 % 60, vec![number as u8; (number * 37 % 6000) as usize]);
    let put = match (number % 4, model.get(&key).map(|blob| blob.version)) {
        (0, _) => store.put(key, &value),
        (1, None) => {
            assert_eq!(store.put_replace(key, &value), Err(Error(ENOENT)));
            store.put_create(key, &value)
        }
        (1, Some(_)) => {
            assert_eq!(store.put_create(key, &value), Err(Error(EEXIST)));
            store.put_replace(key, &value)
        }
        (2, Some(version)) => {
            assert_eq!(store.put_if(key, &value, version + 1), Err(Error(ESTALE)));
            assert_eq!(store.erase_if(key, version + 1), Err(Error(ESTALE)));
            store.put_if(key, &value, version)
        }
        (_, version) => {
            assert_eq!(store.erase(key), Ok(version.is_some()));
            assert_eq!(store.get(key), Ok(None));
            model.remove(&key);
            return;
        }
    };
    model.insert(key, Blob { value, version: put.unwrap() });
}

#[test]
fn a_store_of_blobs_is_a_map() {
    for engine in ["crab", "nvtree", "clfb", "nbtree"] {
        let path = image(engine, 2 << 20);
        let store = store(&path, engine, true);
        let mut model = BTreeMap::new();
        for number in 0..1000 {
            step(&store, &mut model, number * number + number / 3);
        }
        same(&store, &model);
        store.close().unwrap();
        let store = Store::open(format!("file:{}", path.display())).unwrap();
        same(&store, &model);
        assert!(store.check().unwrap().is_none());
        store.close().unwrap();
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_list_goes_on_after_damage() {
    let path = image("damaged", 1 << 20);
    let store = store(&path, "", true);
    for key in 0..1000 {
        store.put(key, &[]).unwrap();
    }
    store.close().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[16384 + 4 * 1024 + 24] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let store = Store::open_readonly(format!("file:{}", path.display())).unwrap();
    let mut list = store.list(0..=KEY_MAX);
    let keys: Vec<_> = list.by_ref().filter_map(Result::ok).map(|one| one.key).collect();
    let damaged = list.damaged().unwrap();
    assert!(keys.into_iter().eq((0..1000).filter(|key| !damaged.contains(key))));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn lengths_and_kinds() {
    let path = image("lengths", 8 << 20);
    let blobs = store(&path, "", true);
    assert!(blobs.put(1, &[0; 65536]).is_ok());
    assert_eq!(blobs.put(1, &[0; 65537]), Err(Error(EMSGSIZE)));
    assert_eq!(blobs.get(1).unwrap().unwrap().value.len(), 65536);
    assert_eq!(blobs.insert(1, 1), Err(Error(EOPNOTSUPP)));
    assert!(blobs.range(..).eq([Err(Error(EOPNOTSUPP))]));
    assert_eq!(blobs.watch(0..=KEY_MAX, 0).err(), Some(Error(EOPNOTSUPP)));
    assert_eq!(blobs.snapshot().err(), Some(Error(EOPNOTSUPP)));
    assert!(Error(EOPNOTSUPP).to_string().contains("an image, which has no watch and no snapshot"));
    blobs.put(2, b"damaged").unwrap();
    blobs.close().unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(7).position(|part| part == b"damaged").unwrap();
    bytes[at - 8] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let blobs = Store::open_readonly(format!("file:{}", path.display())).unwrap();
    let listed: Vec<_> = blobs.list(0..=KEY_MAX).map(|one| one.map(|entry| (entry.bytes, entry.damaged))).collect();
    assert_eq!(listed, [Ok((65536, false)), Ok((0, true))]);
    blobs.close().unwrap();
    let path = {
        std::fs::remove_file(path).unwrap();
        image("records", 256 << 10)
    };
    assert_eq!(store(&path, "", false).put(1, &[]), Err(Error(EOPNOTSUPP)));
    std::fs::remove_file(path).unwrap();
}
