// SPDX-License-Identifier: LGPL-2.1-or-later
//! This file tests variables on images of two engines, next to a BTreeMap.

use crabtree::{Error, FormatOptions, NameEntry, Store, Type, Value, Variable, ENOENT, ESTALE, EUCLEAN};
use common::{Image, EEXIST, EINVAL, EMSGSIZE, EOPNOTSUPP};
use std::collections::BTreeMap;

mod common;

/// Variables and their lengths.
type Model = BTreeMap<Vec<u8>, (Variable, u32)>;

const BYTES: usize = 8 << 20;

fn options(engine: &str, names: bool) -> FormatOptions<'_> {
    FormatOptions { engine, names, blobs: !names, ..Default::default() }
}

/// A value of each type, and its length.
fn value(number: u64) -> (Value, u32) {
    let long = vec![number as u8; (number * 37 % 6000) as usize];
    match number % 10 {
        0 => (long.clone().into(), long.len() as u32),
        1 => (Value::Other(Type::Text, b"\xff".to_vec()), 1),
        2 => ("größer".into(), 8),
        3 => (true.into(), 1),
        4 => ((number as u8).into(), 1),
        5 => ((number as u16).into(), 2),
        6 => ((number as u32).into(), 4),
        7 => ((number << 40).into(), 8),
        8 => (i64::MIN.into(), 8),
        _ => (Value::F64(-0.5 - number as f64), 8),
    }
}

fn same(store: &Store, model: &Model, prefix: &str) {
    let mut want = Vec::new();
    for (name, (one, bytes)) in model.iter().filter(|(name, _)| name.starts_with(prefix.as_bytes())) {
        let (kind, version) = (one.value.kind(), one.version);
        want.push(NameEntry { name: name.clone(), kind, bytes: *bytes, version, damaged: false });
        assert_eq!(store.variable(name).unwrap().as_ref(), Some(one));
    }
    assert_eq!(store.names(prefix).collect::<Result<Vec<_>, _>>(), Ok(want));
}

fn name(number: u64) -> Vec<u8> {
    match number * 7 % 40 {
        number @ 0..=9 => format!("plc/line1/{number}").into(),
        number @ 10..=19 => format!("plc/{number}").into(),
        number @ 20..=29 => vec![0xff; 8 * number as usize],
        number => vec![0, number as u8],
    }
}

fn step(store: &Store, model: &mut Model, number: u64) {
    let (name, (value, bytes)) = (name(number), value(number));
    let set = match (number / 3 % 4, model.get(&name).map(|(one, _)| one.version)) {
        (0, _) => store.set(&name, value.clone()),
        (1, None) => {
            assert_eq!(store.set_replace(&name, value.clone()), Err(Error(ENOENT)));
            store.set_create(&name, value.clone())
        }
        (1, Some(_)) => {
            assert_eq!(store.set_create(&name, value.clone()), Err(Error(EEXIST)));
            store.set_replace(&name, value.clone())
        }
        (2, Some(version)) => {
            assert_eq!(store.set_if(&name, value.clone(), version + 1), Err(Error(ESTALE)));
            assert_eq!(store.remove_if(&name, version + 1), Err(Error(ESTALE)));
            store.set_if(&name, value.clone(), version)
        }
        (_, version) => {
            let removed = version.map_or_else(|| store.remove(&name), |old| store.remove_if(&name, old));
            assert_eq!(removed, Ok(version.is_some()));
            assert_eq!(store.variable(&name), Ok(None));
            model.remove(&name);
            return;
        }
    };
    model.insert(name, (Variable { value, version: set.unwrap() }, bytes));
}

#[test]
fn a_store_of_names_is_a_map() {
    for engine in ["crab", "nvtree"] {
        let image = Image::new(engine, BYTES);
        let store = image.store(&options(engine, true));
        let mut model = BTreeMap::new();
        for number in 0..1500 {
            step(&store, &mut model, number * number + number / 3);
        }
        same(&store, &model, "");
        store.close().unwrap();
        let store = image.open();
        for prefix in ["", "plc/", "plc/line1/", "x"] {
            same(&store, &model, prefix);
        }
        assert!(store.check().unwrap().is_none());
        store.close().unwrap();
    }
}

#[test]
fn many_names_are_listed() {
    let image = Image::new("many", BYTES);
    let store = image.store(&options("", true));
    let names: Vec<_> = (0..300).map(|number| format!("{number:0>100}")).collect();
    for name in names.iter().rev() {
        store.set(name, name.as_str()).unwrap();
    }
    let listed: Vec<_> = store.names("00").map(|one| String::from_utf8(one.unwrap().name).unwrap()).collect();
    assert_eq!(listed, names);
}

#[test]
fn a_list_has_all_but_a_damaged_name() {
    let image = Image::new("damaged", BYTES);
    let names = image.store(&options("", true));
    for name in ["first", "second", "third"] {
        names.set(name, true).unwrap();
    }
    names.close().unwrap();
    let names = image.damage(&[image.find(b"second")]);
    let listed: Vec<_> = names.names("").map(|one| one.map(|entry| entry.name)).collect();
    assert_eq!(listed, [Ok(b"first".to_vec()), Ok(b"third".to_vec()), Err(Error(EUCLEAN))]);
}

#[test]
fn limits_and_kinds() {
    let image = Image::new("limits", BYTES);
    let names = image.store(&options("", true));
    for name in [vec![], vec![b'x'; 241]] {
        assert_eq!(names.set(&name, 1u8), Err(Error(EINVAL)));
        assert_eq!(names.variable(&name), Err(Error(EINVAL)));
        assert_eq!(names.remove(&name), Err(Error(EINVAL)));
    }
    for (kind, bytes) in [(Type::Other(9), 1), (Type::U32, 3), (Type::Bool, 2)] {
        assert_eq!(names.set("x", Value::Other(kind, vec![0; bytes])), Err(Error(EINVAL)));
    }
    assert!(names.set("x", vec![1; 65536]).is_ok());
    assert_eq!(names.set("x", vec![0; 65537]), Err(Error(EMSGSIZE)));
    assert_eq!(names.variable("x").unwrap().unwrap().value, Value::Bytes(vec![1; 65536]));
    assert_eq!(names.insert(1, 1), Err(Error(EOPNOTSUPP)));
    names.close().unwrap();
    let image = Image::new("blobs", BYTES);
    let blobs = image.store(&options("", false));
    assert_eq!(blobs.set("x", 1u8), Err(Error(EOPNOTSUPP)));
    assert!(blobs.names("").eq([Err(Error(EOPNOTSUPP))]));
}
