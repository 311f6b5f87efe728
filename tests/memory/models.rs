//! Forward and backward passes allocate nothing once the workspace is there.

use bnn_mcmc::engine::{Tile, TileMut, padded};
use bnn_mcmc::model::{Activation, Linear, Mlp, Model};

use crate::allocator::{allocations_of_thread as allocations, alone};

fn check<M: Model>(model: &M, what: &str) {
    for rows in [1, 40, 64] {
        let w = vec![0.1; model.layout().dim()];
        let x = vec![0.5; model.n_inputs() * padded(rows)];
        let d_out = vec![0.5; model.n_outputs() * padded(rows)];
        let (mut out, mut grad) = (d_out.clone(), w.clone());
        let mut ws = model.workspace();
        let mut pass = || {
            model.begin(&w, &mut ws);
            model.forward(&w, Tile::new(&x, rows), TileMut::new(&mut out, rows), &mut ws);
            model.backward(&w, Tile::new(&x, rows), Tile::new(&d_out, rows), &mut grad, &mut ws);
            model.finish(&mut grad, &mut ws);
        };
        // faer keeps a buffer for every thread, which the first of its products makes.
        if what.starts_with("wide") {
            pass();
        }
        let count = allocations(pass);
        assert_eq!(count, 0, "{what}, {rows} rows");
    }
}

#[test]
fn passes_allocate_nothing() {
    let _alone = alone();
    check(&Linear::new(34, 2).unwrap(), "linear");
    for activation in Activation::ALL {
        let mlp = Mlp::new(&[5, 9, 30, 2], activation).unwrap().output_activation(activation);
        check(&mlp, activation.name());
    }
    check(&Mlp::new(&[300, 99, 99, 2], Activation::Relu).unwrap(), "just narrow");
    check(&Mlp::new(&[300, 99, 99, 2], Activation::Relu).unwrap().in_f32(), "just narrow, f32");
    check(&Mlp::new(&[300, 256, 256, 2], Activation::Relu).unwrap(), "wide");
    check(&Mlp::new(&[300, 256, 256, 2], Activation::Relu).unwrap().in_f32(), "wide, f32");
}
