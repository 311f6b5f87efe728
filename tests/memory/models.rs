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
        let count = allocations(|| {
            model.forward(&w, Tile::new(&x, rows), TileMut::new(&mut out, rows), &mut ws);
            model.backward(&w, Tile::new(&x, rows), Tile::new(&d_out, rows), &mut grad, &mut ws);
            model.finish(&mut grad, &mut ws);
        });
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
    // From 100 inputs and units on, products are faer's and take memory.
    check(&Mlp::new(&[300, 99, 99, 2], Activation::Relu).unwrap(), "just narrow");
    check(&Mlp::new(&[300, 99, 99, 2], Activation::Relu).unwrap().in_f32(), "just narrow, f32");
}
