//! Where a recipe is run: folder, chains, threads, and who is told.

use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use super::Recipe;
use crate::draws::checkpoint::Every;
use crate::fit::told::{Listener, Told};
use crate::sampler::StopHandle;

/// Where a recipe is run, and who is told of it: no result depends on it.
#[derive(Clone, Debug, Default)]
pub(in crate::fit) struct Here {
    pub folder: Option<PathBuf>,
    pub only_chains: Option<Range<usize>>,
    pub every: Every,
    pub threads: Option<usize>,
    pub stop: StopHandle,
    pub listener: Listener,
}

impl Recipe {
    fn here(mut self, change: impl FnOnce(&mut Here)) -> Self {
        change(&mut self.here);
        self
    }

    /// Runs in a folder, which is made if need be, and saves the fit there, as [`Fit::save`](crate::fit::Fit::save) does.
    ///
    /// While it runs, a [checkpoint](crate::draws::checkpoint) is written every 30 seconds. If the
    /// process is killed, the same call goes on where it was and comes to the same numbers; once it
    /// is finished, the same call loads the fit, and [rebuilds](crate::fit::Fit::rebuilt) damaged files. With
    /// more [draws](Self::draws), and all else the same, it goes on where it ended: for this the
    /// checkpoint stays, as large as the draws once more. It may be deleted. Until the new draws
    /// are complete, the folder holds the fit with the old ones, and [`Fit::load`](crate::fit::Fit::load) finds one of the
    /// two at any moment.
    ///
    /// A run that was ended early is finished with fewer draws by the same call with fewer of them,
    /// and goes on to more later. A second process is refused while the first one runs. If the end
    /// cannot be written, as on a full disk, [`Fit::save_error`](crate::fit::Fit::save_error) says so. A folder that holds
    /// another fit, or one of other rows, is an error that names the difference.
    pub fn in_folder(self, folder: impl Into<PathBuf>) -> Self {
        self.here(|here| here.folder = Some(folder.into()))
    }

    /// Runs only these of the [chains](Self::chains), as one job of several that share the fit:
    /// `2..3` is chain 2. They make the draws that they make in the whole run. The model must be given. [In a
    /// folder](Self::in_folder) all jobs may have the same one: each has a folder of its own there,
    /// called `chains-2..3`, and [`Fit::merge`](crate::fit::Fit::merge) puts the parts together.
    pub fn only_chains(self, chains: Range<usize>) -> Self {
        self.here(|here| here.only_chains = Some(chains))
    }

    /// The times at which a run [in a folder](Self::in_folder) writes its checkpoints.
    pub fn checkpoint_every(self, every: Every) -> Self {
        self.here(|here| here.every = every)
    }

    /// The number of threads. No number depends on it, but where [the time](Self::within) decides on the numbers of
    /// iterations. Without this call all threads of rayon's pool.
    /// Where a limit on memory or threads leaves room for fewer, there are fewer.
    pub fn threads(self, threads: usize) -> Self {
        self.here(|here| here.threads = Some(threads))
    }

    /// A handle that ends the run early; the fit then has the draws that were made. A run
    /// [in a folder](Self::in_folder) goes on with the next call.
    pub fn stop_handle(self, stop: &StopHandle) -> Self {
        self.here(|here| here.stop = stop.clone())
    }

    /// Reports how far the run is to the standard error, by [`progress_report`](crate::sampler::progress_report): step size,
    /// divergences and time left.
    pub fn progress(self) -> Self {
        self.here(|here| here.listener = Listener::Terminal)
    }

    /// Calls `listener` with all that [`progress`](Self::progress) would print, from the threads of the run: lines, and
    /// about fifty times a second how far the chains are.
    ///
    /// ```
    /// use bnn_mcmc::fit::{Fit, Told};
    /// # let x = ndarray::Array2::from_shape_fn((40, 1), |(i, _)| i as f64 / 10.0);
    /// # let data = bnn_mcmc::data::Dataset::regression(x.clone(), x.mapv(|x| 3.0 * x))?;
    /// let recipe = Fit::regression("y").hidden(&[]).on_progress(|told| match told {
    ///     Told::Line(line) => println!("{line}"),
    ///     Told::Sampling(progress) => println!("{:?} {} of {}", progress.phase, progress.done, progress.total),
    ///     _ => {}
    /// });
    /// let fit = recipe.fit(&data)?;
    /// # Ok::<(), bnn_mcmc::Error>(())
    /// ```
    pub fn on_progress(self, listener: impl Fn(Told) + Send + Sync + 'static) -> Self {
        self.here(|here| here.listener = Listener::Own(Arc::new(listener)))
    }

    /// Tells a line to whoever is told of progress.
    pub(in crate::fit) fn report(&self, line: &str) {
        match &self.here.listener {
            Listener::None => {}
            // A log that cannot be written is not an error.
            Listener::Terminal => drop(writeln!(std::io::stderr(), "{line}")),
            Listener::Own(listener) => listener(Told::Line(line)),
        }
    }
}
