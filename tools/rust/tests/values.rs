// SPDX-License-Identifier: LGPL-2.1-or-later
//! This file tests commits of blobs and of variables on images of two engines, next to a BTreeMap.

use crabtree::{Error, FormatOptions, Store, Value, ValueOp, ENOENT, ESTALE, KEY_MAX};
use common::{Image, Numbers, EEXIST, EINVAL, EMSGSIZE, EOPNOTSUPP};
use std::collections::BTreeMap;

mod common;

/// Values and versions.
type Model = BTreeMap<u64, (Value, u64)>;

const BYTES: usize = 8 << 20;

fn options(engine: &str, names: bool, commits: bool) -> FormatOptions<'_> {
    FormatOptions { engine, names, blobs: !names, commits, ..Default::default() }
}

fn name(key: u64) -> Vec<u8> {
    [format!("plc/{key}").as_bytes(), b"\0\xff"].concat()
}

fn value(numbers: &mut Numbers, names: bool) -> Value {
    let number = numbers.below(3000);
    match numbers.below(4) {
        0 if names => Value::U32(number as u32),
        1 if names => Value::Text("ö".repeat(number as usize)),
        2 if names => Value::F64(number as f64 / 8.0),
        _ => Value::Bytes(vec![number as u8; number as usize]),
    }
}

fn op(names: bool, verb: u64, key: u64, value: &Value) -> ValueOp {
    match (names, verb, value) {
        (true, 0, value) => ValueOp::set(name(key), value.clone()),
        (true, 1, _) => ValueOp::remove(name(key)),
        (true, _, _) => ValueOp::test_name(name(key)),
        (false, 0, Value::Bytes(data)) => ValueOp::put(key, data),
        (false, 1, _) => ValueOp::erase(key),
        (false, _, _) => ValueOp::test(key),
    }
}

/// The operation with a condition, and the error if it does not hold.
fn condition(op: ValueOp, which: u64, there: Option<u64>) -> (ValueOp, Option<i32>) {
    match (which, there) {
        (0, _) => (op.if_absent(), there.map(|_| EEXIST)),
        (1, _) => (op.if_exists(), there.map_or(Some(ENOENT), |_| None)),
        (2, Some(version)) => (op.if_version(version), None),
        (3, Some(version)) => (op.if_version(version + 1), Some(ESTALE)),
        (3, None) => (op.if_version(1), Some(ENOENT)),
        _ => (op, None),
    }
}

fn get(store: &Store, names: bool, key: u64) -> Option<(Value, u64)> {
    if names {
        return store.variable(name(key)).unwrap().map(|one| (one.value, one.version));
    }
    store.get(key).unwrap().map(|one| (Value::Bytes(one.value), one.version))
}

fn same(store: &Store, names: bool, model: &Model) {
    for key in 0..40 {
        assert_eq!(get(store, names, key).as_ref(), model.get(&key), "key {key}");
    }
}

/// A commit of a few keys; returns whether it was done.
fn step(store: &Store, names: bool, model: &mut Model, numbers: &mut Numbers) -> bool {
    let (first, count) = (numbers.below(40), 1 + numbers.below(8));
    let (mut ops, mut plan, mut want) = (Vec::new(), Vec::new(), None);
    for number in 0..count {
        let (key, verb, value) = ((first + number * 7) % 40, numbers.below(3), value(numbers, names));
        let there = model.get(&key).map(|(_, version)| *version);
        let (op, error) = condition(op(names, verb, key, &value), numbers.below(12), there);
        want = want.or(error.map(|error| (number as usize, Error(error))));
        ops.push(op);
        plan.push((key, verb, value));
    }
    let done = store.commit_values(&mut ops);
    assert_eq!(done.err(), want);
    for (op, (key, verb, value)) in ops.iter().zip(plan).take(if want.is_none() { 64 } else { 0 }) {
        assert!(verb == 2 || op.existed() == model.contains_key(&key));
        match verb {
            0 => _ = model.insert(key, (value, op.version())),
            1 => _ = model.remove(&key),
            _ => (),
        }
    }
    want.is_none()
}

#[test]
fn commits_of_values_are_all_or_nothing() {
    for (engine, names) in [("crab", false), ("nvtree", false), ("crab", true), ("nvtree", true)] {
        let image = Image::new(&format!("{engine}-{names}"), BYTES);
        let store = image.store(&options(engine, names, true));
        let (mut model, mut numbers, mut done) = (Model::new(), Numbers(1), 0);
        for _ in 0..600 {
            done += u32::from(step(&store, names, &mut model, &mut numbers));
            same(&store, names, &model);
        }
        assert!((100..500).contains(&done), "{done} commits were done");
        store.close().unwrap();
        let store = image.open();
        same(&store, names, &model);
        assert!(store.check().unwrap().is_none());
        store.close().unwrap();
    }
}

#[test]
fn commits_that_are_refused() {
    let image = Image::new("blobs", BYTES);
    let blobs = image.store(&options("", false, true));
    let mut most: Vec<_> = (0..65).map(|key| ValueOp::put(key, b"x")).collect();
    assert_eq!(blobs.commit_values(&mut most), Err((65, Error(EINVAL))));
    assert_eq!(blobs.commit_values(&mut []), Err((0, Error(EINVAL))));
    let put = ValueOp::put(1, &[]);
    for (op, error) in [(ValueOp::erase(1), EINVAL), (ValueOp::test(u64::MAX), EINVAL),
        (ValueOp::put(2, &[0; 65537]), EMSGSIZE), (ValueOp::set("x", 1u8), EOPNOTSUPP)] {
        assert_eq!(blobs.commit_values(&mut [put.clone(), op]), Err((1, Error(error))));
    }
    assert_eq!(blobs.list(0..=KEY_MAX).count(), 0);
    assert_eq!(blobs.commit_values(&mut most[..64]), Ok(()));
    assert_eq!(blobs.list(0..=KEY_MAX).count(), 64);
    assert!(most[63].version() > most[0].version());
    let image = Image::new("plain", BYTES);
    let plain = image.store(&options("", false, false));
    assert_eq!(plain.commit_values(&mut most[..1]).map_err(|(_, error)| error), Err(Error(EOPNOTSUPP)));
}

#[test]
fn names_that_are_refused() {
    let image = Image::new("names", BYTES);
    let names = image.store(&options("", true, true));
    let set = ValueOp::set("a", 1u8);
    for op in [ValueOp::remove("a"), ValueOp::remove(""), ValueOp::test_name([b'x'; 241]),
        ValueOp::set("b", Value::Other(crabtree::Type::U32, vec![0; 3]))] {
        assert_eq!(names.commit_values(&mut [set.clone(), op]), Err((1, Error(EINVAL))));
    }
    let put = ValueOp::put(1, b"x");
    assert_eq!(names.commit_values(&mut [set.clone(), put]), Err((1, Error(EOPNOTSUPP))));
    assert!(names.names("").next().is_none());
}
