// SPDX-License-Identifier: LGPL-2.1-or-later
//! This file tests blobs on images of two engines, next to a BTreeMap.

use crabtree::{Blob, Error, FormatOptions, Store, ENOENT, ESTALE, KEY_MAX};
use common::{Image, EEXIST, EMSGSIZE, EOPNOTSUPP};
use std::collections::BTreeMap;

mod common;

fn blobs(engine: &str) -> FormatOptions<'_> {
    FormatOptions { engine, blobs: true, ..Default::default() }
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
        let image = Image::new(engine, 2 << 20);
        let store = image.store(&blobs(engine));
        let mut model = BTreeMap::new();
        for number in 0..1000 {
            step(&store, &mut model, number * number + number / 3);
        }
        same(&store, &model);
        store.close().unwrap();
        let store = image.open();
        same(&store, &model);
        assert!(store.check().unwrap().is_none());
        store.close().unwrap();
    }
}

#[test]
fn a_list_goes_on_after_damage() {
    let image = Image::new("damaged", 1 << 20);
    let store = image.store(&blobs(""));
    for key in 0..1000 {
        store.put(key, &[]).unwrap();
    }
    store.close().unwrap();
    let store = image.damage(&[16384 + 4 * 1024 + 24]);
    let mut list = store.list(0..=KEY_MAX);
    let keys: Vec<_> = list.by_ref().filter_map(Result::ok).map(|one| one.key).collect();
    let damaged = list.damaged().unwrap();
    assert!(keys.into_iter().eq((0..1000).filter(|key| !damaged.contains(key))));
}

#[test]
fn lengths_and_kinds() {
    let image = Image::new("lengths", 8 << 20);
    let blobs = image.store(&blobs(""));
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
    let damaged = image.damage(&[image.find(b"damaged") - 8]);
    let listed: Vec<_> = damaged.list(0..=KEY_MAX).map(|one| one.map(|entry| (entry.bytes, entry.damaged))).collect();
    assert_eq!(listed, [Ok((65536, false)), Ok((0, true))]);
    let image = Image::new("records", 256 << 10);
    assert_eq!(image.store(&FormatOptions::default()).put(1, &[]), Err(Error(EOPNOTSUPP)));
}
