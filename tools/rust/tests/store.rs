// SPDX-License-Identifier: LGPL-2.1-or-later
//! This file tests the crate on images of each engine, next to a BTreeMap.

use crabtree::{Error, FormatOptions, Op, Store, KEY_MAX};
use common::{Image, Numbers, EBADF, EEXIST};
use std::collections::BTreeMap;

mod common;

const ENGINES: [(&str, &str); 9] = [("crab", "slotted"), ("crab", "sorted"), ("volatile", ""), ("nvtree", ""),
    ("fastfair", ""), ("clfb", "inplace"), ("clfb", "twin"), ("nbtree", ""),
    ("nbtree", "eadr")];

const BYTES: usize = 256 << 10;

fn options<'a>(engine: &'a str, layout: &'a str) -> FormatOptions<'a> {
    FormatOptions { label: "rust", engine, layout, ..Default::default() }
}

fn all_down(store: &Store) -> Vec<(u64, u64)> {
    store.range(..).rev().collect::<Result<_, _>>().unwrap()
}

fn all(store: &Store) -> Vec<(u64, u64)> {
    store.range(..).collect::<Result<_, _>>().unwrap()
}

fn step(store: &Store, model: &mut BTreeMap<u64, u64>, numbers: &mut Numbers) {
    let (key, value) = (numbers.below(400), numbers.below(10));
    match numbers.below(6) {
        0 | 1 => assert_eq!(store.insert(key, value), Ok(model.insert(key, value))),
        2 => assert_eq!(store.delete(key), Ok(model.remove(&key))),
        3 => assert_eq!(store.search(key), Ok(model.get(&key).copied())),
        4 => {
            let want = model.range(..=key).next_back().map(|(&k, &v)| (k, v));
            assert_eq!(store.at_or_below(key), Ok(want));
        }
        _ => {
            let want = model.range(key..).next().map(|(&k, &v)| (k, v));
            assert_eq!(store.at_or_above(key), Ok(want));
        }
    }
}

#[test]
fn a_store_of_each_engine_is_a_map() {
    for (engine, layout) in ENGINES {
        let image = Image::new(&format!("map-{engine}-{layout}"), BYTES);
        let store = image.store(&options(engine, layout));
        let (mut model, mut numbers) = (BTreeMap::new(), Numbers(1));
        for _ in 0..3000 {
            step(&store, &mut model, &mut numbers);
        }
        let want: Vec<(u64, u64)> = model.into_iter().collect();
        assert_eq!(all(&store), want, "{engine}");
        assert_eq!(all_down(&store), want.iter().rev().copied().collect::<Vec<_>>(), "{engine}");
        assert!(store.check().unwrap().is_none());
        assert_eq!(store.info().unwrap().records, want.len() as u64);
        store.close().unwrap();
    }
}

#[test]
fn batches_have_results() {
    let image = Image::new("batch", BYTES);
    let store = image.store(&options("", ""));
    let mut ops: Vec<Op> = (0..5000).map(|key| Op::insert(key, key + 1)).collect();
    store.batch(&mut ops).unwrap();
    assert!(ops.iter().all(|op| op.result() == Ok(0)));
    let mut ops = [Op::search(4999), Op::delete(4999), Op::search(4999), Op::insert(7, 9)];
    store.batch(&mut ops).unwrap();
    let results: Vec<_> = ops.iter().map(Op::result).collect();
    assert_eq!(results, [Ok(5000), Ok(5000), Err(Error(crabtree::ENOENT)), Ok(8)]);
}

#[test]
fn commits_are_all_or_nothing() {
    let image = Image::new("commit", BYTES);
    let store = image.store(&FormatOptions { commits: true, ..Default::default() });
    store.insert(1, 100).unwrap();
    let mut ops = [Op::add(1, 30u64.wrapping_neg()).if_exists(), Op::add(2, 30), Op::search(3).if_absent(), Op::delete(4)];
    store.commit(&mut ops).unwrap();
    assert_eq!((store.search(1), store.search(2), ops[0].result()), (Ok(Some(70)), Ok(Some(30)), Ok(100)));
    let mut ops = [Op::insert(9, 9), Op::delete(2).if_value(31)];
    assert_eq!(store.commit(&mut ops), Err((1, Error(crabtree::ESTALE))));
    assert_eq!(store.search(9), Ok(None));
    assert!(store.commit(&mut []).is_err());
}

#[test]
fn ranges_are_those_of_rust() {
    let image = Image::new("range", BYTES);
    let store = image.store(&options("", ""));
    for key in [0, 1, 2, 300, KEY_MAX] {
        store.insert(key, key).unwrap();
    }
    let keys = |found: crabtree::Range| found.map(|r| r.unwrap().0).collect::<Vec<_>>();
    assert_eq!(keys(store.range(..)), [0, 1, 2, 300, KEY_MAX]);
    assert_eq!(keys(store.range(1..300)), [1, 2]);
    assert_eq!(keys(store.range(1..=300)), [1, 2, 300]);
    assert_eq!(keys(store.range(0..0)), []);
    assert_eq!(keys(store.range(301..)), [KEY_MAX]);
    let down = |found: crabtree::Range| found.rev().map(|r| r.unwrap().0).collect::<Vec<_>>();
    assert_eq!(down(store.range(..)), [KEY_MAX, 300, 2, 1, 0]);
    assert_eq!(down(store.range(1..300)), [2, 1]);
    assert_eq!(down(store.range(0..0)), []);
    assert_eq!((store.delete_range(1..=299), store.delete_range(1..=299)), (Ok(2), Ok(0)));
    assert_eq!(keys(store.range(..)), [0, 300, KEY_MAX]);
}

#[test]
fn a_range_ends_where_both_ends_meet() {
    let image = Image::new("meet", BYTES);
    let store = image.store(&options("", ""));
    for key in 0..1000 {
        store.insert(key, key).unwrap();
    }
    let mut range = store.range(..);
    let mut numbers = Numbers(3);
    let (mut front, mut back) = (0, 1000);
    while front < back {
        if numbers.below(2) == 0 {
            assert_eq!(range.next(), Some(Ok((front, front))));
            front += 1;
        } else {
            back -= 1;
            assert_eq!(range.next_back(), Some(Ok((back, back))));
        }
    }
    assert_eq!((range.next(), range.next_back()), (None, None));
}

#[test]
fn properties_and_damage() {
    let image = Image::new("properties", BYTES);
    let store = image.store(&options("", ""));
    store.format(&FormatOptions { leaf_bytes: 512, force: true, ..Default::default() }).unwrap();
    for key in 0..1000 {
        store.insert(key, key).unwrap();
    }
    let info = store.info().unwrap();
    assert_eq!((info.leaf_bytes, info.records, info.leaves_bad), (512, 1000, 0));
    assert!(info.lines > info.fences && info.fences >= 1000 && info.leaves > info.leaves_used);
    assert_eq!((info.inserts, info.updates, info.deletes, info.repairs, info.version), (1000, 0, 0, 0, 1));
    assert!(info.splits > 0 && info.dram_bytes > 0 && info.attach_ns > 0 && info.lines_bound > 1);
    assert_eq!((info.options.as_str(), info.feature_incompat, info.keeps), ("", 0, 1));
    store.close().unwrap();
    let store = image.damage(&[16384 + 4 * 512 + 24]);
    let info = store.info().unwrap();
    assert_eq!((info.leaves_bad, info.reason), (1, store.reason()));
    let damage = store.check().unwrap().unwrap();
    assert!(store.info().unwrap().reason.contains(&format!("offset {}: {}", damage.first_offset, damage.first)));
    assert!(!damage.first.is_empty() && damage.errors < damage.first_offset);
}

#[test]
fn a_range_goes_on_after_damage() {
    let image = Image::new("damaged", BYTES);
    let store = image.store(&options("", ""));
    for key in 0..3000 {
        store.insert(key, key).unwrap();
    }
    store.close().unwrap();
    let store = image.damage(&[4, 8].map(|leaf| 16384 + leaf * 1024 + 24));
    let (mut range, mut keys, mut damaged) = (store.range(..), Vec::new(), Vec::new());
    while let Some(found) = range.next() {
        match found {
            Ok((key, _)) => keys.push(key),
            Err(error) => {
                assert_eq!(error, Error(crabtree::EUCLEAN));
                damaged.push(range.damaged().unwrap());
            }
        }
    }
    assert_eq!(damaged.len(), 2);
    assert!(keys.iter().copied().eq((0..3000).filter(|key| !damaged.iter().any(|out| out.contains(key)))));
    let mut range = store.range(..).rev();
    assert_eq!(range.by_ref().filter_map(Result::ok).map(|(key, _)| key).collect::<Vec<_>>(), keys.into_iter().rev().collect::<Vec<_>>());
    let mut back = store.range(..);
    while back.damaged().is_none() {
        back.next_back();
    }
    assert_eq!(back.damaged().as_ref(), damaged.last());
}

#[test]
fn conditions_and_errors() {
    let image = Image::new("errors", BYTES);
    let store = image.store(&options("", ""));
    assert_eq!(store.create(1, 1), Ok(()));
    assert_eq!(store.create(1, 2), Err(Error(EEXIST)));
    assert_eq!(store.replace(1, 3), Ok(Some(1)));
    assert_eq!(store.replace(2, 3), Ok(None));
    assert_eq!((store.swap(1, 2, 4), store.swap(1, 3, 4), store.swap(2, 0, 4)), (Ok(Some(3)), Ok(Some(3)), Ok(None)));
    assert_eq!((store.add(1, u64::MAX), store.add(2, 5)), (Ok(4), Ok(0)));
    let mut ops = [Op::swap(1, 4, 0), Op::swap(1, 3, 2), Op::add(1, 1), Op::add(3, 1)];
    store.batch(&mut ops).unwrap();
    assert_eq!(ops.map(|op| op.result()), [Err(Error(crabtree::ESTALE)), Ok(3), Ok(2), Ok(0)]);
    assert!(store.insert(u64::MAX, 0).is_err());
    assert!(Store::open(image.url()).is_err());
    let long = "x".repeat(32);
    assert!(store.format(&FormatOptions { label: &long, force: true, ..Default::default() }).is_err());
    assert_eq!(store.format(&FormatOptions::default()), Err(Error(EEXIST)));
    store.close().unwrap();
    let store = Store::open_readonly(image.url()).unwrap();
    assert_eq!(store.insert(1, 1), Err(Error(EBADF)));
    assert_eq!(Error(EBADF).to_string(), "opened for reading only");
    assert_eq!(store.search(1), Ok(Some(3)));
    assert_eq!(Store::open("/dev/null").err().unwrap().to_string(), "not a crabtree device");
}

#[test]
fn threads_share_a_store() {
    let image = Image::new("threads", BYTES);
    let store = image.store(&options("", ""));
    std::thread::scope(|scope| {
        for first in 0..4 {
            let store = &store;
            scope.spawn(move || (0..500).for_each(|key| assert_eq!(store.insert(first * 1000 + key, 1), Ok(None))));
        }
    });
    assert_eq!(store.info().unwrap().records, 2000);
    assert_eq!(store.info().unwrap().state, "ready");
    assert_eq!(store.info().unwrap().model, "word");
}
