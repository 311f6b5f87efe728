//! The numbers of iterations, and of rows, that there is time for.

use std::time::{Duration, Instant};

use super::Recipe;
use super::choices::RunUntil;
use super::recipe::{DrawnRows, MANY_ROWS, Sizes};
use super::search::{DRAWS, WARMUP};
use crate::data::Dataset;
use crate::message::{count, duration};

/// The time of a fit whose model the data choose, until it has settled, on rows from a number on, and until it has converged.
const SETTLES_WITHIN: Duration = Duration::from_secs(60);
const LONG_ROWS: usize = 5000;
const LONG_SETTLES_WITHIN: Duration = Duration::from_secs(180);
const CONVERGES_WITHIN: Duration = Duration::from_secs(600);
/// The share of it that the search may take.
pub(super) const SEARCH: f64 = 0.4;
/// The iterations of warm-up among which the time decides: for predictions with the [`LEAST`] draws at first, until chains have
/// converged with as many draws as iterations, or the least.
const WARMUPS: [usize; 5] = [1000, 500, 300, 200, 150];
/// The most of them for predictions.
const SHORT_WARMUP: usize = 300;
pub(super) const LEAST: (usize, usize) = (150, 100);
/// How often the number of draws after which chains are first judged may be doubled within [`RUN`]. Where chains have nearly
/// converged by then, it is doubled [once more](Recipe::within).
const DOUBLINGS: u32 = 4;
/// How often it is doubled at most where no time is foreseen.
pub(super) const MOST_DOUBLINGS: u32 = DOUBLINGS + 1;
/// An iteration's time in a run over its time in a chain on a fold, whose shorter warm-up comes to shorter trajectories: the
/// median of 36 runs on 20 tables was 1.30, and 35 of them were between 0.87 and 1.87.
const SLOWER: f64 = 1.3;
/// How many times as many steps trajectories may have as in chains on folds, unless [short ones](RunUntil::Settled) are taken.
const LONGER: f64 = 16.0;
/// The share of the time that is left which the forecast of a run may take.
const RUN: f64 = 0.67;
/// The share of the time after which a run ends; what is left is for scores and files.
pub(super) const ALL: f64 = 0.9;

/// The seconds of an iteration of one chain on all rows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// Of the first iterations of warm-up, on average.
    pub first: f64,
    pub later: f64,
}

impl Pace {
    /// The seconds of a run.
    pub fn seconds(self, sizes: Sizes, threads: usize) -> f64 {
        let Sizes { chains, warmup, draws } = sizes;
        let first = warmup.min(WARMUP);
        let chain = first as f64 * self.first + (warmup - first + draws) as f64 * self.later;
        chain * chains.div_ceil(threads.min(chains).max(1)) as f64
    }

    /// The seconds of this chain's own iterations.
    pub fn of_fold(self) -> f64 {
        WARMUP as f64 * self.first + DRAWS as f64 * self.later
    }

    /// The pace on so many times as many rows.
    pub fn times(self, rows: f64) -> Self {
        Self { first: self.first * rows, later: self.later * rows }
    }
}

impl Recipe {
    /// The time that a fit may take, if there is a limit: nothing depends on the time where no number of iterations is left
    /// open, unless it was given.
    pub(super) fn limit(&self) -> Option<Duration> {
        let is_open = self.settings.warmup.is_none() || self.settings.draws.is_none();
        self.settings.within.or(is_open.then_some(self.usual_limit()))
    }

    pub(super) fn usual_limit(&self) -> Duration {
        match (self.settles(), self.decided.n_rows >= LONG_ROWS) {
            (true, false) => SETTLES_WITHIN,
            (true, true) => LONG_SETTLES_WITHIN,
            (false, _) => CONVERGES_WITHIN,
        }
    }

    /// Whether a run whose number of draws is open ends when predictions have settled.
    pub(super) fn settles(&self) -> bool {
        self.settings.run_until.unwrap_or_default() == RunUntil::Settled
    }

    /// The numbers of iterations that were given, and of the others so many of warm-up, with as many draws.
    fn sizes_of(&self, iterations: usize) -> Sizes {
        let is_least = self.settles() || iterations == LEAST.0;
        let draws = if is_least { LEAST.1 } else { iterations };
        Sizes {
            chains: self.sizes().chains,
            warmup: self.settings.warmup.unwrap_or(iterations),
            draws: self.settings.draws.unwrap_or(draws),
        }
    }

    /// The forecast of a run, in seconds.
    pub(super) fn seconds(&self, pace: Pace, sizes: Sizes) -> f64 {
        self.tables() * SLOWER * pace.seconds(sizes, self.workers())
    }

    /// The number of completed tables that share the time.
    fn tables(&self) -> f64 {
        self.decided.imputed.map_or(1, |table| table.of) as f64
    }

    /// The end of the time that was given, of which each completed table has its share.
    pub(super) fn deadline_of_table(&self) -> Option<Instant> {
        Instant::now().checked_add(self.settings.within? / self.tables().max(1.0) as u32)
    }

    /// The numbers of iterations that there is time for in so many seconds, and those with the most draws, if they may be
    /// doubled.
    pub(super) fn fitting(&self, pace: Pace, left: f64) -> (Sizes, Option<Sizes>) {
        let is_short = |sizes: &Sizes| self.seconds(pace, *sizes) <= RUN * left;
        let most = if self.settles() { SHORT_WARMUP } else { WARMUPS[0] };
        let sizes = WARMUPS.into_iter().filter(|iterations| *iterations <= most);
        let sizes = sizes.map(|iterations| self.sizes_of(iterations));
        let taken = sizes.clone().find(is_short).unwrap_or(self.sizes_of(LEAST.0));
        let doubled = |k| Sizes { draws: taken.draws << k, ..taken };
        let most = (1..=DOUBLINGS).map(doubled).take_while(is_short).last();
        let most = most.filter(|_| self.settings.draws.is_none());
        (taken, most)
    }

    /// The rows that there is time for, if the shortest run on all `rows` takes longer than what is left of it.
    pub(super) fn rows_in(&self, pace: Pace, rows: usize, left: f64) -> Option<DrawnRows> {
        let shortest = self.seconds(pace, self.sizes_of(LEAST.0));
        let is_open = self.settings.warmup.is_none() || self.settings.draws.is_none();
        let is_free = self.settings.most_rows.is_none() && is_open && rows > MANY_ROWS;
        if !is_free || shortest <= RUN * left {
            return None;
        }
        let drawn = (rows as f64 * (RUN * left / shortest).max(0.0)) as usize; //~ rows-in-time
        Some(DrawnRows { rows: drawn.clamp(MANY_ROWS, rows), of: rows, validation: None })
            .filter(|drawn| drawn.rows < rows)
    }

    /// The recipe for the rows that there is time for, and the pace on them, after a search that began at `start`.
    pub(super) fn in_time(
        mut self,
        start: Instant,
        pace: Option<Pace>,
        data: &Dataset,
    ) -> (Self, Option<Pace>) {
        let rows = data.rows();
        let within = self.limit().unwrap_or(self.usual_limit());
        let left = within.as_secs_f64() - start.elapsed().as_secs_f64();
        let Some(mut drawn) = pace.and_then(|pace| self.rows_in(pace, rows, left)) else {
            return (self, pace);
        };
        // As many for validation as the split has a share of.
        if let Ok(Some(split)) = self.split(data) {
            let share = split.test.len() as f64 / rows as f64;
            drawn.validation = Some(((drawn.rows as f64 * share).round() as usize).max(1));
        }
        self.report(&format!(
            "rows        {drawn}: the shortest run on all would take longer than there is time for"
        ));
        let pace = pace.map(|pace| pace.times(drawn.rows as f64 / rows as f64));
        self.decided.drawn = Some(drawn);
        (self, pace)
    }

    /// The recipe with as many iterations as there is time for, after a search that began at `start`.
    pub(super) fn sized(mut self, start: Instant, pace: Option<Pace>) -> Self {
        self.decided.is_short = self.settles();
        let Sizes { chains, warmup, draws } = self.sizes();
        let within = self.limit().unwrap_or(self.usual_limit());
        let left = within.as_secs_f64() - start.elapsed().as_secs_f64();
        let Some(pace) = pace else {
            self.report("time        cannot be foreseen: no candidate has predicted all rows");
            let least = self.sizes_of(LEAST.0);
            return self.warmup(least.warmup).draws(least.draws);
        };
        let (taken, most) = self.fitting(pace, left);
        self.decided.is_short &= LONGER * self.seconds(pace, taken) > RUN * left;
        let mut said = format!(
            "time        about {} for {} of {} + {} iterations",
            duration(self.seconds(pace, taken)),
            count(chains, "chain"),
            taken.warmup,
            taken.draws,
        );
        if self.settings.draws.is_none() {
            let most = most.unwrap_or(taken);
            let [by_then, more] = [most.draws, 2 * most.draws].map(|draws| count(draws, "draw"));
            let end = if self.settles() { "settled" } else { "converged" };
            said += &match most.draws > taken.draws {
                true => format!(
                    "; if they have not {end} by then, up to {}, for {by_then}, or {more} if these may be enough",
                    duration(self.seconds(pace, most)),
                ),
                false => format!("; if they have nearly {end} by then, up to {more}"),
            };
        }
        if !self.settles() && (taken.warmup < warmup || taken.draws < draws) {
            said += &format!(
                "; {warmup} + {draws} would take {}, more than two thirds of the {} that are left",
                duration(self.seconds(pace, Sizes { chains, warmup, draws })),
                duration(left.max(0.0))
            );
        }
        self.report(&said);
        // The draws that were asked for are made, however long that takes.
        if self.settings.draws.is_some() {
            return self.warmup(taken.warmup).draws(taken.draws);
        }
        let now = Instant::now();
        let end = start.checked_add(within.mul_f64(ALL));
        let left = end.map(|end| end.saturating_duration_since(now).div_f64(self.tables()));
        let deadline = left.and_then(|left| now.checked_add(left));
        let most_draws = Some(2 * most.map_or(taken.draws, |most| most.draws));
        let mut sized = self.warmup(taken.warmup).draws(taken.draws);
        (sized.decided.most_draws, sized.decided.deadline) = (most_draws, deadline);
        sized
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::collections::HashSet;

    use ndarray::{Array1, Array2};

    use super::*;
    use crate::fit::{Fit, Origin};

    /// Of a million rows, so many as let the shortest run take two thirds of the time.
    #[test]
    fn rows_are_drawn_where_there_is_no_time_for_all() {
        let recipe = Fit::regression("y").threads(2);
        // 150 + 100 iterations of four chains on two threads, 1.3 times as long as on folds: 6,500 s.
        let pace = Pace { first: 10.0, later: 10.0 };
        assert_eq!(recipe.rows_in(pace, 1_000_000, 9703.0), None);
        let drawn = recipe.rows_in(pace, 1_000_000, 970.15).unwrap();
        assert!(drawn.of == 1_000_000 && drawn.rows.abs_diff(100_000) < 100, "{drawn:?}");
        for left in [0.0, -10.0, 1.0] {
            assert_eq!(recipe.rows_in(pace, 1_000_000, left).unwrap().rows, 10_000);
        }
        // Few rows, and what was asked for, stay.
        assert_eq!(recipe.rows_in(pace, 10_000, 1.0), None);
        assert_eq!(recipe.clone().most_rows(usize::MAX).rows_in(pace, 1_000_000, 1.0), None);
        assert_eq!(recipe.warmup(200).draws(100).rows_in(pace, 1_000_000, 1.0), None);
    }

    /// Sixteen times 1.3 times 400 iterations of four chains on two threads take two thirds of a minute at a pace of 2.4 ms.
    #[test]
    fn trajectories_are_as_long_as_there_is_time_for() {
        let is_short = |recipe: Recipe, pace| {
            recipe
                .threads(2)
                .sized(Instant::now(), Some(Pace { first: pace, later: pace }))
                .decided
                .is_short
        };
        assert!(!is_short(Fit::regression("y"), 0.0023));
        assert!(is_short(Fit::regression("y"), 0.0025));
        assert!(!is_short(Fit::regression("y").run_until(RunUntil::Converged), 0.0025));
    }

    /// What is judged by validation rows is not what was chosen by them: rows that are drawn after a search keep their side. Of classes
    /// each keeps its share.
    #[test]
    fn drawn_rows_stay_on_their_side_of_the_split() {
        let rows = 12_000;
        let x = Array2::from_shape_fn((rows, 1), |(i, _)| i as f64);
        let labels = (0..rows).map(|i| usize::from(i % 50 == 0)).collect();
        let classes = Dataset::classification(x.clone(), labels, ["often", "rare"]).unwrap();
        let real = Dataset::regression(x, Array1::from_shape_fn(rows, |i| i as f64)).unwrap();
        for (recipe, data) in [(Fit::regression("y"), real), (Fit::classification("y"), classes)] {
            let mut recipe = recipe.validation(0.2);
            let left: HashSet<usize> =
                recipe.split(&data).unwrap().unwrap().test.into_iter().collect();
            let pace = Some(Pace { first: 10.0, later: 10.0 });
            let drawn = recipe.within(Duration::ZERO).in_time(Instant::now(), pace, &data).0;
            recipe = drawn;
            let of_table = |data: &Dataset, row: usize| data.x()[[row, 0]] as usize;
            let (few, _) = recipe.of_drawn(Cow::Borrowed(&data), Origin::default()).unwrap();
            let split = recipe.split(&few).unwrap().unwrap();
            assert_eq!((split.train.len(), split.test.len()), (8_000, 2_000));
            assert!(split.test.iter().all(|row| left.contains(&of_table(&few, *row))));
            assert!(split.train.iter().all(|row| !left.contains(&of_table(&few, *row))));
            let all: HashSet<usize> = (0..few.rows()).map(|row| of_table(&few, row)).collect();
            assert_eq!(all.len(), 10_000);
            if let Some(labels) = few.response().classes() {
                let of = |rows: &[usize]| rows.iter().filter(|row| labels[**row] == 1).count();
                assert_eq!((of(&split.train), of(&split.test)), (160, 40));
            }
        }
    }

    #[test]
    fn a_pace_makes_a_forecast() {
        let pace = Pace { first: 0.02, later: 0.01 };
        let seconds =
            |chains, threads| pace.seconds(Sizes { chains, warmup: 1000, draws: 500 }, threads);
        // 150 first iterations and 1,350 later ones of each chain.
        for (chains, threads, rounds) in
            [(1, 1, 1.0), (4, 1, 4.0), (4, 2, 2.0), (3, 2, 2.0), (2, 8, 1.0)]
        {
            assert!((seconds(chains, threads) - rounds * 16.5).abs() < 1e-9);
        }
        let short = pace.seconds(Sizes { chains: 1, warmup: 10, draws: 5 }, 1);
        assert!((short - 0.25).abs() < 1e-12);
    }
}
