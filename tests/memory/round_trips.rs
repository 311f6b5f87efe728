//! Draws that are written and read: names and numbers come back as they were.

use std::collections::HashSet;

use bnn_mcmc::layout::Layout;
use bnn_mcmc::prelude::*;
use ndarray::Array3;
use proptest::prelude::{Just, ProptestConfig, Strategy, prop, prop_oneof, proptest};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::allocator::alone;

/// Draws of parameters with these names, each a block of its own, written and read.
fn written_and_read(names: &[String], values: &Array3<f64>) -> Draws {
    let layout = names.iter().fold(Layout::new(), |layout, name| layout.with(name, &[]));
    let mut csv = Vec::new();
    Draws::new(layout, values.clone()).unwrap().write_csv(&mut csv).unwrap();
    Draws::read_csv(&csv[..], "memory").unwrap()
}

fn names_read(names: &[&str]) -> Vec<String> {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let values = Array3::zeros((1, 2, names.len()));
    written_and_read(&names, &values).layout().parameter_names()
}

#[test]
fn names_of_incomplete_and_interleaved_arrays_are_taken_literally() {
    alone(|| {
        for names in [
            &["w[1]"][..],
            &["w[1]", "w[2]"],
            &["w[0]", "b[0]", "w[1]", "b[1]"],
            &["w[0]", "w[2]"],
            &["w[0]", "w[1]", "b", "w[2]"],
            &["w[00]"],
            &["w[+1]"],
            &["w", "w[0]", "w[1]"],
            &["w[0,0]", "w[0,1]", "w[1,0]"],
            &["w[0][0]", "w[0]"],
            &["w[]", "w[0,]", "]", "[0]", "w[18446744073709551615]"],
            &[
                " w",
                "w",
                "w ",
                "\tw[0]",
                "",
                "\"w\"",
                "a \"b\"",
                "a,b",
                "a\nb",
                "a\rb\r\n",
                "\u{feff}w",
            ],
            &["chain", "draw", "w"],
        ] {
            assert_eq!(names_read(names), names);
        }
        let layout = |names: &[&str]| {
            let names = names.iter().map(ToString::to_string).collect::<Vec<_>>();
            written_and_read(&names, &Array3::zeros((1, 1, names.len()))).layout().clone()
        };
        let found = layout(&["w[0,0]", "w[0,1]", "w[1,0]", "w[1,1]", "b[0]", "s"]);
        assert_eq!(found, Layout::new().with("w", &[2, 2]).with("b", &[1]).with("s", &[]));
        // A block whose parts are apart is none: its draws would come in another order.
        assert_eq!(layout(&["w[0]", "b", "w[1]"]).block_names(), ["w[0]", "b", "w[1]"]);
        // Stan and R count from 1. The block is one, its parts are called as they were.
        let stan = layout(&["theta[1]", "theta[2]", "m[1,1]", "m[1,2]"]);
        assert_eq!(stan.block_names(), ["theta", "m"]);
        assert_eq!(stan.parameter_names(), ["theta[1]", "theta[2]", "m[1,1]", "m[1,2]"]);
    });
}

/// Names of blocks, from plain to weird.
fn block_name() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[a-z][a-z0-9_]{0,4}",
        2 => "[ab,\"\\[\\]01 .é\t\r\n-]{0,6}",
        1 => Just("chain".to_string()),
        1 => Just("draw".to_string()),
    ]
}

fn shape() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1usize..4, 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn draws_come_back_with_their_names_and_bits(
        blocks in prop::collection::vec((block_name(), shape()), 1..5),
        // Which parameters are kept, in which order: all in order, some in order, some in any.
        order in 0..3, seed in 0u64..1000, chains in 1usize..4, draws in 1usize..4,
    ) {
        alone(|| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut seen = HashSet::new();
            let mut layout = Layout::new();
            for (name, shape) in &blocks {
                let next = Layout::new().with(name, shape);
                if next.parameter_names().iter().all(|name| !seen.contains(name)) {
                    seen.extend(next.parameter_names());
                    layout = layout.then(&next);
                }
            }
            let mut names = layout.parameter_names();
            if order > 0 {
                names.retain(|_| random.random_bool(0.7));
            }
            if order > 1 {
                for i in 1..names.len() {
                    names.swap(i, random.random_range(0..=i));
                }
            }
            if !names.is_empty() {
                let values = Array3::from_shape_fn((chains, draws, names.len()), |_| loop {
                    let value = f64::from_bits(random.random());
                    if !value.is_nan() { break value }
                });
                let back = written_and_read(&names, &values);
                assert_eq!(back.layout().parameter_names(), names);
                assert!(back.values().iter().zip(&values).all(|(a, b)| a.to_bits() == b.to_bits()));
            }
            // Whole blocks with plain names stay blocks.
            let plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if layout.blocks().iter().all(|b| plain(&b.name)) {
                let names = layout.parameter_names();
                let back = written_and_read(&names, &Array3::zeros((1, 1, names.len())));
                let unique: HashSet<&String> = layout.blocks().iter().map(|b| &b.name).collect();
                if unique.len() == layout.blocks().len() {
                    assert_eq!(*back.layout(), layout);
                }
            }
        });
    }
}
