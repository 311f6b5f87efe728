//! A density over constrained parameters, as a target over free numbers.

use std::ops::Range;

use super::{Constraint, GradTarget, LogDensity, Target, TargetInfo};
use crate::Error;
use crate::layout::{Block, Layout};

/// The density of `target`, some blocks of whose parameters are constrained, over numbers that are free.
///
/// `target` is written in the parameters that one thinks in: standard deviations, rates, probabilities; it is asked at
/// points that keep to the constraints, up to rounding, and has no Jacobian in it. This view of it adds the logarithm of the volume to the
/// log prior, and its derivative to the gradient (the formulas stand at [`Constraint`]). Its blocks are called `log_NAME`
/// where numbers are positive, `logit_NAME` between bounds, `free_NAME` otherwise; those without a
/// constraint keep their names. [`Draws::constrained`](crate::draws::Draws::constrained) maps draws back. Chains start at free numbers that are uniform on (-2, 2).
///
/// ```
/// use bnn_mcmc::layout::Layout;
/// use bnn_mcmc::prelude::*;
/// use bnn_mcmc::targets::{Constrained, Constraint, GradTarget, LogDensity, Target};
///
/// /// A waiting time of mean 2: log p(t) = -t / 2, t > 0.
/// struct Waiting;
///
/// impl Target for Waiting {
///     type Workspace = ();
///     fn dim(&self) -> usize {
///         1
///     }
///     fn workspace(&self) {}
///     fn layout(&self) -> Layout {
///         Layout::new().with("t", &[])
///     }
///     fn log_density(&self, t: &[f64], _: &mut ()) -> LogDensity {
///         LogDensity::from(-t[0] / 2.0)
///     }
/// }
///
/// impl GradTarget for Waiting {
///     fn log_density_grad(&self, t: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
///         grad[0] = -0.5;
///         self.log_density(t, ws)
///     }
/// }
///
/// let target = Constrained::new(Waiting, &[("t", Constraint::Positive)])?;
/// let draws = Sampler::new(&target, Nuts::default()).run()?; // of log_t
/// let times = draws.constrained(&target)?; // of t
/// assert!((times.parameter("t")?.mean().unwrap() - 2.0).abs() < 0.2);
/// # Ok::<(), bnn_mcmc::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Constrained<T> {
    target: T,
    parts: Vec<Part>,
    layout: Layout,
}

/// One block of parameters.
#[derive(Clone, Debug)]
struct Part {
    name: String,
    constraint: Option<Constraint>,
    /// The block's place among the free numbers, and the length of a row there.
    free: (Range<usize>, usize),
    /// Its place among the parameters, and the length of a row there.
    theta: (Range<usize>, usize),
}

/// Scratch memory of one chain on a [`Constrained`] target.
#[derive(Debug)]
pub struct ConstrainedWorkspace<W> {
    theta: Vec<f64>,
    d_theta: Vec<f64>,
    base: W,
}

impl<T: Target> Constrained<T> {
    /// The density of `target` with a constraint for each of the blocks that are named; the others are free.
    ///
    /// # Errors
    /// A name that is not a block of the target's layout, or is there twice; bounds that are not finite and rising; an order or
    /// a simplex of a block without a last index of at least one or two.
    pub fn new<S: AsRef<str>>(target: T, constraints: &[(S, Constraint)]) -> Result<Self, Error> {
        let natural = target.layout();
        natural.check_names()?;
        if natural.dim() != target.dim() {
            return Err(Error::shape("numbers in the layout", natural.dim(), target.dim()));
        }
        for (i, (name, _)) in constraints.iter().enumerate() {
            let name = name.as_ref();
            if !natural.blocks().iter().any(|block| block.name == name) {
                return Err(Error::UnknownName {
                    what: "parameter block".into(),
                    name: name.into(),
                    known: natural.block_names(),
                });
            }
            if constraints[..i].iter().any(|(other, _)| other.as_ref() == name) {
                let found = format!("`{name}` twice");
                return Err(Error::argument("constraints", found, "one of each block"));
            }
        }
        let (mut parts, mut layout) = (Vec::new(), Layout::new());
        for block in natural.blocks() {
            let constraint = constraints.iter().find(|(name, _)| name.as_ref() == block.name);
            let constraint = constraint.map(|(_, constraint)| *constraint);
            let start = layout.dim();
            let (free, row) = match constraint {
                None => (block.clone(), (1, 1)),
                Some(constraint) => {
                    let row = constraint.row(block)?;
                    let mut shape = block.shape.clone();
                    if let Some(last) = shape.last_mut() {
                        *last = *last / row * constraint.free(row);
                    }
                    let range = 0..block.range.len() / row * constraint.free(row);
                    let name = constraint.free_name(&block.name);
                    (Block { name, shape, range, first: block.first }, (constraint.free(row), row))
                }
            };
            layout = layout.with_block(&free);
            parts.push(Part {
                name: block.name.clone(),
                constraint,
                free: (start..layout.dim(), row.0),
                theta: (block.range.clone(), row.1),
            });
        }
        layout.check_names()?;
        Ok(Self { target, parts, layout })
    }

    /// The density over the constrained parameters.
    pub fn target(&self) -> &T {
        &self.target
    }

    /// The parameters of the free numbers `q`.
    ///
    /// # Errors
    /// If `q` has another length than this target's `dim`.
    pub fn constrain(&self, q: &[f64]) -> Result<Vec<f64>, Error> {
        if q.len() != self.layout.dim() {
            return Err(Error::shape("number of free numbers", q.len(), self.layout.dim()));
        }
        let mut theta = vec![0.0; self.target.dim()];
        self.write(q, &mut theta);
        Ok(theta)
    }

    /// Writes the parameters of the free numbers `q` into `theta`, and returns the logarithm of the volume that a unit of q
    /// has there.
    pub(crate) fn write(&self, q: &[f64], theta: &mut [f64]) -> f64 {
        let mut log_volume = 0.0;
        for part in &self.parts {
            let (q, theta) = (&q[part.free.0.clone()], &mut theta[part.theta.0.clone()]);
            match part.constraint {
                None => theta.copy_from_slice(q),
                Some(constraint) => {
                    let rows = q.chunks_exact(part.free.1);
                    for (q, theta) in rows.zip(theta.chunks_exact_mut(part.theta.1)) {
                        log_volume += constraint.constrain(q, theta);
                    }
                }
            }
        }
        log_volume
    }

    /// The free numbers of the parameters `theta`, to start a chain from.
    ///
    /// # Errors
    /// If `theta` has another length than the density's `dim`, or does not keep to the constraints.
    pub fn unconstrain(&self, theta: &[f64]) -> Result<Vec<f64>, Error> {
        if theta.len() != self.target.dim() {
            return Err(Error::shape("number of parameters", theta.len(), self.target.dim()));
        }
        let mut q = vec![0.0; self.layout.dim()];
        for part in &self.parts {
            let (q, theta) = (&mut q[part.free.0.clone()], &theta[part.theta.0.clone()]);
            let Some(constraint) = part.constraint else {
                q.copy_from_slice(theta);
                continue;
            };
            let rows = q.chunks_exact_mut(part.free.1);
            for (q, theta) in rows.zip(theta.chunks_exact(part.theta.1)) {
                constraint.free_of(theta, q).map_err(|allowed| {
                    Error::argument(format!("`{}`", part.name), format!("{theta:?}"), allowed)
                })?;
            }
        }
        Ok(q)
    }
}

impl<T: Target> Target for Constrained<T> {
    type Workspace = ConstrainedWorkspace<T::Workspace>;

    fn dim(&self) -> usize {
        self.layout.dim()
    }

    fn workspace(&self) -> Self::Workspace {
        let zeros = vec![0.0; self.target.dim()];
        ConstrainedWorkspace { theta: zeros.clone(), d_theta: zeros, base: self.target.workspace() }
    }

    fn log_density(&self, q: &[f64], ws: &mut Self::Workspace) -> LogDensity {
        let log_volume = self.write(q, &mut ws.theta);
        with_volume(self.target.log_density(&ws.theta, &mut ws.base), log_volume)
    }

    fn layout(&self) -> Layout {
        self.layout.clone()
    }

    forward! { self => self.target;
        fn data_checksum() -> Option<u32>;
        fn approximation() -> Option<String>;
        fn info() -> Option<TargetInfo>;
    }
}

impl<T: GradTarget> GradTarget for Constrained<T> {
    fn log_density_grad(
        &self,
        q: &[f64],
        grad: &mut [f64],
        ws: &mut Self::Workspace,
    ) -> LogDensity {
        let log_volume = self.write(q, &mut ws.theta);
        let density = self.target.log_density_grad(&ws.theta, &mut ws.d_theta, &mut ws.base);
        for part in &self.parts {
            let (free, theta) = (part.free.0.clone(), part.theta.0.clone());
            let (q, grad) = (&q[free.clone()], &mut grad[free]);
            let (theta, d_theta) = (&ws.theta[theta.clone()], &ws.d_theta[theta]);
            let Some(constraint) = part.constraint else {
                grad.copy_from_slice(d_theta);
                continue;
            };
            let rows = q.chunks_exact(part.free.1).zip(grad.chunks_exact_mut(part.free.1));
            let of = theta.chunks_exact(part.theta.1).zip(d_theta.chunks_exact(part.theta.1));
            for ((q, grad), (theta, d_theta)) in rows.zip(of) {
                constraint.pull_back(q, theta, d_theta, grad);
            }
        }
        with_volume(density, log_volume)
    }
}

/// The density with the volume in its prior.
fn with_volume(density: LogDensity, log_volume: f64) -> LogDensity {
    LogDensity { prior: density.prior + log_volume, ..density } //~ constrained-volume
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::gradient_error;

    /// The sum of sin((i + 1) theta_i / 5) over the parameters, as its log likelihood.
    #[derive(Debug)]
    struct Waves(Layout);

    impl Target for Waves {
        type Workspace = ();
        fn dim(&self) -> usize {
            self.0.dim()
        }
        fn workspace(&self) {}
        fn layout(&self) -> Layout {
            self.0.clone()
        }
        fn log_density(&self, theta: &[f64], _: &mut ()) -> LogDensity {
            let waves = theta.iter().enumerate().map(|(i, t)| ((i + 1) as f64 * t / 5.0).sin());
            LogDensity::new(waves.sum(), 0.0)
        }
    }

    impl GradTarget for Waves {
        fn log_density_grad(&self, theta: &[f64], grad: &mut [f64], ws: &mut ()) -> LogDensity {
            for (i, (grad, t)) in grad.iter_mut().zip(theta).enumerate() {
                let n = (i + 1) as f64 / 5.0;
                *grad = n * (n * t).cos();
            }
            self.log_density(theta, ws)
        }
    }

    const ALL: [Constraint; 5] = [
        Constraint::Positive,
        Constraint::Bounded { lower: -2.0, upper: 0.5 },
        Constraint::Ordered,
        Constraint::PositiveOrdered,
        Constraint::Simplex,
    ];

    /// A free number, two rows of four numbers under `constraint`, another free number.
    fn target(constraint: Constraint) -> Constrained<Waves> {
        let layout = Layout::new().with("a", &[]).with("t", &[2, 4]).with("z", &[1]);
        Constrained::new(Waves(layout), &[("t", constraint)]).unwrap()
    }

    fn somewhere(dim: usize) -> Vec<f64> {
        (0..dim).map(|i| 1.3 * (1.7 * i as f64 + 0.4).sin()).collect()
    }

    /// log |det a|, by elimination.
    fn log_det(mut a: Vec<Vec<f64>>) -> f64 {
        let mut sum = 0.0;
        for k in 0..a.len() {
            let pivot = (k..a.len()).max_by(|i, j| a[*i][k].abs().total_cmp(&a[*j][k].abs()));
            a.swap(k, pivot.unwrap());
            sum += a[k][k].abs().ln();
            for i in k + 1..a.len() {
                let factor = a[i][k] / a[k][k];
                let above = a[k].clone();
                a[i].iter_mut().zip(&above).for_each(|(x, y)| *x -= factor * y);
            }
        }
        sum
    }

    #[test]
    fn gradients_and_volumes_are_those_of_the_map() {
        for constraint in ALL {
            let target = target(constraint);
            let q = somewhere(target.dim());
            assert!(gradient_error(&target, &q) < 1e-8, "{constraint:?}");

            // By central differences; of a simplex the last number of each row follows from the others.
            let mut columns = Vec::new();
            for i in 0..q.len() {
                let at = |h: f64| {
                    let mut moved = q.clone();
                    moved[i] += h;
                    target.constrain(&moved).unwrap()
                };
                let (up, down) = (at(1e-5), at(-1e-5));
                let slope = |k: usize| (up[k] - down[k]) / 2e-5;
                let dependent = |k: &usize| constraint == Constraint::Simplex && [4, 8].contains(k);
                columns.push((0..10).filter(|k| !dependent(k)).map(slope).collect());
            }
            let log_volume = target.write(&q, &mut [0.0; 10]);
            assert!((log_volume - log_det(columns)).abs() < 1e-8, "{constraint:?}: {log_volume}");
            let density = target.log_density(&q, &mut target.workspace());
            assert_eq!(density.prior, log_volume);
        }
    }

    #[test]
    fn parameters_keep_to_their_constraints_and_come_back() {
        for constraint in ALL {
            let target = target(constraint);
            let q = somewhere(target.dim());
            let theta = target.constrain(&q).unwrap();
            assert_eq!((theta[0], theta[9]), (q[0], q[q.len() - 1]));
            let back = target.unconstrain(&theta).unwrap();
            for (back, q) in back.iter().zip(&q) {
                assert!((back - q).abs() < 1e-12, "{constraint:?}: {back}, {q}");
            }
            for row in theta[1..9].chunks(4) {
                let rises = row.windows(2).all(|pair| pair[0] < pair[1]);
                let sum: f64 = row.iter().sum();
                assert!(match constraint {
                    Constraint::Positive => row.iter().all(|t| *t > 0.0),
                    Constraint::Bounded { lower, upper } => {
                        row.iter().all(|t| (lower..upper).contains(t))
                    }
                    Constraint::Ordered => rises,
                    Constraint::PositiveOrdered => rises && row[0] > 0.0,
                    Constraint::Simplex => {
                        row.iter().all(|t| *t > 0.0) && (sum - 1.0).abs() < 1e-15
                    }
                });
            }
            // Far out nothing is NaN, and the volume of a unit goes to 0 no faster than its logarithm can say.
            for far in [-800.0, 700.0] {
                let q = vec![far; target.dim()];
                let mut grad = q.clone();
                let density = target.log_density_grad(&q, &mut grad, &mut target.workspace());
                assert!(density.prior.is_finite(), "{constraint:?} at {far}: {density:?}");
                assert!(grad.iter().all(|g| !g.is_nan()), "{constraint:?} at {far}: {grad:?}");
            }
        }
        let middle = target(Constraint::Simplex).unconstrain(&[0.25; 10]).unwrap();
        assert!(middle[1..7].iter().all(|x| x.abs() < 1e-14), "{middle:?}");
    }

    #[test]
    fn names_say_what_the_free_numbers_are() {
        let names = ALL.map(|constraint| target(constraint).layout().block_names()[1].clone());
        assert_eq!(names, ["log_t", "logit_t", "free_t", "free_t", "free_t"]);
        assert_eq!(target(Constraint::Simplex).layout().blocks()[1].shape, [2, 3]);
    }

    #[test]
    fn what_cannot_be_constrained_is_refused_by_name() {
        let layout = || Layout::new().with("s", &[]).with("p", &[3, 1]).with("log_s", &[]);
        let refused = |constraints: &[(&str, Constraint)]| {
            Constrained::new(Waves(layout()), constraints).unwrap_err().to_string()
        };
        let bounds = |lower, upper| Constraint::Bounded { lower, upper };
        for (constraints, parts) in [
            (&[("q", Constraint::Positive)][..], "no parameter block named `q`"),
            (&[("p", Constraint::Positive), ("p", Constraint::Ordered)], "`p` twice"),
            (&[("s", bounds(1.0, 1.0))], "bounds of `s`"),
            (&[("s", bounds(0.0, f64::INFINITY))], "0 and inf"),
            (&[("s", Constraint::Ordered)], "at least 1 numbers along the last index"),
            (&[("p", Constraint::Simplex)], "[3, 1]"),
            (&[("s", Constraint::Positive)], "`log_s` twice"),
        ] {
            let error = refused(constraints);
            assert!(error.contains(parts), "{error}");
        }
        for (constraint, row) in [
            (Constraint::Positive, [1.0, 2.0, 3.0, 0.0]),
            (bounds(-1.0, 1.0), [0.0, 0.0, 1.0, 0.0]),
            (Constraint::Ordered, [1.0, 2.0, 2.0, 3.0]),
            (Constraint::PositiveOrdered, [-1.0, 2.0, 3.0, 4.0]),
            (Constraint::Simplex, [0.25, 0.25, 0.25, 0.3]),
            (Constraint::Simplex, [0.5, 0.5, 0.5, -0.5]),
            (Constraint::Ordered, [1.0, f64::NAN, 2.0, 3.0]),
        ] {
            let mut theta = [0.0; 10];
            theta[1..5].copy_from_slice(&row);
            theta[5..9].copy_from_slice(&row);
            let error = target(constraint).unconstrain(&theta).unwrap_err().to_string();
            assert!(error.contains("`t`"), "{error}");
        }
        let error = target(Constraint::Positive).unconstrain(&[1.0]).unwrap_err().to_string();
        assert!(error.contains("number of parameters"), "{error}");
        let error = target(Constraint::Positive).constrain(&[1.0]).unwrap_err().to_string();
        assert!(error.contains("number of free numbers"), "{error}");
    }
}
