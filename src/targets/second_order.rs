//! Targets with second derivatives: the parts of metrics that follow the target's shape.

use super::{Conditioned, ConditionedWorkspace, GradTarget, PowerGradTarget, Target, Tempered};
use crate::Error;

/// A target with its Hessian.
///
/// With pi_beta the target whose likelihood is taken to the power beta,
///
/// ```text
/// log pi_beta(q)  = beta ell(q) + log p(q)
/// H(q)            = -d^2 log pi_beta / dq dq^T           HessTarget: symmetric, of any sign
/// F(q)            = beta I(q) + P                        FisherTarget: positive semi-definite
/// I(q)            = E[ (d ell / dq) (d ell / dq)^T ]     over y ~ p(y | q)
/// ```
///
/// I is the expected Fisher information of the likelihood: J^T C J with J the Jacobian of the
/// outputs and C the information of one row about its outputs (the Gauss-Newton matrix), and beta N
/// / 2 for the log variance of N Gaussian responses. P is the precision of the prior, or its
/// substitute where log p is flat or not concave: [`prior`](crate::prior) has the table.
///
/// For a [`Posterior`](crate::posterior::Posterior) both are exact. Each column is one product with a vector;
/// forward passes and all else that does not depend on the column are shared, and products with
/// weights that do not move are left out.
/// [`Posterior::neg_hessian_product_at`](crate::posterior::Posterior::neg_hessian_product_at) is one product.
/// Measured, in gradients (`cargo bench --bench second_order`):
///
/// | | d | product | Hessian | Fisher information |
/// | --- | --- | --- | --- | --- |
/// | xor, MLP 2-2-1 | 9 | 1.4 | 6 | 4 |
/// | iris, MLP 4-3-3 | 27 | 2.1 | 20 | 16 |
/// | ionosphere, linear | 35 | 1.5 | 21 | 20 |
/// | iris, MLP 4-10-3 | 83 | 2.1 | 74 | 50 |
/// | ionosphere, MLP 34-10-1 | 361 | 1.8 | 400 | 350 |
pub trait HessTarget: GradTarget {
    /// Overwrites `out` (d x d, row-major, symmetric) with minus the Hessian of beta ell + log p at q.
    ///
    /// A density that is not split into likelihood and prior is all likelihood. At beta = 0 the
    /// likelihood does not enter, whatever its value.
    fn neg_hessian_at(&self, beta: f64, q: &[f64], out: &mut [f64], ws: &mut Self::Workspace);

    /// Whether [`neg_hessian_at`](Self::neg_hessian_at) knows all parts of the target; an error that
    /// says which it does not. Kernels ask once, when they are built.
    fn check_hessian(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// A target with its expected Fisher information: the expected part of [`HessTarget`], whose table
/// has the cost.
pub trait FisherTarget: GradTarget {
    /// Overwrites `out` (d x d, row-major, symmetric) with beta I(q) + P.
    fn fisher_at(&self, beta: f64, q: &[f64], out: &mut [f64], ws: &mut Self::Workspace);

    /// Whether [`fisher_at`](Self::fisher_at) knows all parts of the target; an error that says which
    /// it does not. Kernels ask once, when they are built.
    fn check_fisher(&self) -> Result<(), Error> {
        Ok(())
    }
}

impl<T: HessTarget> HessTarget for &T {
    forward! { self => (**self);
        fn neg_hessian_at(beta: f64, q: &[f64], out: &mut [f64], ws: &mut Self::Workspace);
        fn check_hessian() -> Result<(), Error>;
    }
}

impl<T: FisherTarget> FisherTarget for &T {
    forward! { self => (**self);
        fn fisher_at(beta: f64, q: &[f64], out: &mut [f64], ws: &mut Self::Workspace);
        fn check_fisher() -> Result<(), Error>;
    }
}

/// The powers multiply: `beta` is one of this target, which is tempered already.
impl<T: HessTarget + PowerGradTarget> HessTarget for Tempered<T> {
    fn neg_hessian_at(&self, beta: f64, q: &[f64], out: &mut [f64], ws: &mut Self::Workspace) {
        self.base().neg_hessian_at(beta * self.beta(), q, out, ws);
    }
    forward! { self => self.base();
        fn check_hessian() -> Result<(), Error>;
    }
}

/// The powers multiply: `beta` is one of this target, which is tempered already.
impl<T: FisherTarget + PowerGradTarget> FisherTarget for Tempered<T> {
    fn fisher_at(&self, beta: f64, q: &[f64], out: &mut [f64], ws: &mut Self::Workspace) {
        self.base().fisher_at(beta * self.beta(), q, out, ws);
    }
    forward! { self => self.base();
        fn check_fisher() -> Result<(), Error>;
    }
}

/// The most dimensions of which a full matrix of second derivatives is kept: 0.5 GB.
pub(crate) const MOST_DIMENSIONS: usize = 1 << 13;

impl<T: Target> Conditioned<T> {
    /// An error if a matrix of the base has too many numbers.
    fn check_matrix(&self) -> Result<(), Error> {
        let d = self.base().dim();
        if d <= MOST_DIMENSIONS {
            return Ok(());
        }
        let allowed = format!(
            "at most {MOST_DIMENSIONS}: second derivatives of blocks are cut out of those of the whole target"
        );
        Err(Error::argument("dimension of the target", d, allowed))
    }

    /// The submatrix of these blocks from the matrix that `write` writes for the full vector.
    fn submatrix(
        &self,
        q: &[f64],
        out: &mut [f64],
        ws: &mut ConditionedWorkspace<T::Workspace>,
        write: impl FnOnce(&[f64], &mut [f64], &mut T::Workspace),
    ) {
        let d = self.base().dim();
        let mut full = std::mem::take(&mut ws.matrix);
        full.resize(d * d, 0.0); // allocates once, at first use
        let (q, _, base) = self.full(q, ws);
        write(q, &mut full, base);
        for (out, i) in out.chunks_exact_mut(self.dim()).zip(self.coordinates()) {
            self.gather(&full[i * d..(i + 1) * d], out);
        }
        ws.matrix = full;
    }
}

/// The submatrix of the blocks. All of the base is computed, and must be known.
impl<T: HessTarget> HessTarget for Conditioned<T> {
    fn neg_hessian_at(&self, beta: f64, q: &[f64], out: &mut [f64], ws: &mut Self::Workspace) {
        let base = self.base();
        self.submatrix(q, out, ws, |q, full, ws| base.neg_hessian_at(beta, q, full, ws));
    }
    fn check_hessian(&self) -> Result<(), Error> {
        self.check_matrix()?;
        self.base().check_hessian()
    }
}

/// The submatrix of the blocks. All of the base is computed, and must be known.
impl<T: FisherTarget> FisherTarget for Conditioned<T> {
    fn fisher_at(&self, beta: f64, q: &[f64], out: &mut [f64], ws: &mut Self::Workspace) {
        let base = self.base();
        self.submatrix(q, out, ws, |q, full, ws| base.fisher_at(beta, q, full, ws));
    }
    fn check_fisher(&self) -> Result<(), Error> {
        self.check_matrix()?;
        self.base().check_fisher()
    }
}
