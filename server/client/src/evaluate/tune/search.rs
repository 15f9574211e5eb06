//! Finds a good point of a space by few trials: random search (Bergstra and Bengio, 2012, "Random search for hyper-parameter
//! optimization"), then coordinate ascent from the best of them (Metzler and Croft, 2007, "Linear feature-based models for information
//! retrieval").

use std::collections::BTreeSet;

use crate::evaluate::statistics::{Chance, NOISE};

/// The number of a choice in each dimension; 0 leaves it as it is.
pub(super) type Point = Vec<usize>;

/// Gain of nDCG that a change must have at least. So settings that hardly matter stay as they are, and fewer are fitted to chance.
const PRICE: f64 = 0.001;
/// Random points are one in so many of the trials.
const RANDOM_EVERY: usize = 3;

/// The best point of a search.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) point: Point,
    pub(super) trials: usize,
}

/// Searches until nothing near the best point is better, or all trials are used. `sizes` has the number of choices of each dimension beside 0,
/// `plain` takes out of a point what has no effect. The same seed draws the same points.
///
/// # Errors
/// The first error of a trial.
pub(super) async fn search<E>(
    sizes: &[usize],
    plain: impl Fn(Point) -> Point,
    trials_max: usize,
    seed: u64,
    mut measure: impl AsyncFnMut(&Point) -> Result<f64, E>,
) -> Result<Found, E> {
    let (mut chance, mut known) = (Chance(seed), BTreeSet::new());
    let mut best = (vec![0; sizes.len()], f64::MIN);
    // Tries a point, unless it is known or no trial is left, and keeps the better one.
    let mut consider = async |point: Point, best: &mut (Point, f64)| {
        let point = plain(point);
        if known.len() < trials_max && known.insert(point.clone()) {
            let changed = point.iter().filter(|choice| **choice > 0).count();
            let value = measure(&point).await? - PRICE * changed as f64;
            if value > best.1 + NOISE {
                *best = (point, value);
            }
        }
        Ok::<(), E>(())
    };
    consider(best.0.clone(), &mut best).await?;
    for _ in 0..trials_max / RANDOM_EVERY {
        let choice = |size: &usize| if chance.below(2) == 0 { 0 } else { chance.below(size + 1) };
        let point = sizes.iter().map(choice).collect();
        consider(point, &mut best).await?;
    }
    loop {
        let before = best.1;
        for (dimension, size) in sizes.iter().enumerate() {
            for choice in 0..=*size {
                let mut point = best.0.clone();
                point[dimension] = choice;
                consider(point, &mut best).await?;
            }
        }
        if best.1 <= before {
            return Ok(Found { point: best.0, trials: known.len() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [usize; 4] = [3, 4, 2, 5];

    /// Highest at 2, 4, 0, 1; the last dimension counts only with the first.
    fn planted(point: &Point) -> f64 {
        let near = |dimension: usize, best: f64| 0.1 * (point[dimension] as f64 - best).abs();
        let last = if point[0] == 2 { 0.2 - near(3, 1.0) } else { 0.0 };
        0.7 - near(0, 2.0) - near(1, 4.0) + last
    }

    async fn found(trials_max: usize, seed: u64) -> (Found, Vec<Point>) {
        let mut tried = Vec::new();
        let measure = async |point: &Point| {
            tried.push(point.clone());
            Ok::<f64, ()>(planted(point))
        };
        let plain = |mut point: Point| {
            if point[0] != 2 {
                point[3] = 0;
            }
            point
        };
        let found = search(&SIZES, plain, trials_max, seed, measure).await.unwrap();
        (found, tried)
    }

    #[tokio::test]
    async fn a_planted_optimum_is_found_and_what_does_not_matter_stays() {
        for seed in 0..20 {
            assert_eq!(found(200, seed).await.0.point, [2, 4, 0, 1], "seed {seed}");
        }
    }

    #[tokio::test]
    async fn a_seed_gives_the_same_trials_and_no_more_than_allowed() {
        for trials_max in [1, 2, 7, 30] {
            let (first, tried) = found(trials_max, 7).await;
            assert_eq!((first.clone(), tried.clone()), found(trials_max, 7).await);
            assert!(tried.len() <= trials_max, "{tried:?}");
            assert_eq!((tried.len(), &tried[0]), (first.trials, &vec![0; 4]));
            let distinct: BTreeSet<&Point> = tried.iter().collect();
            assert_eq!(distinct.len(), tried.len(), "no point twice");
        }
        assert_ne!(found(30, 7).await.1, found(30, 8).await.1);
    }

    #[tokio::test]
    async fn nothing_to_gain_changes_nothing() {
        let measure = async |_: &Point| Ok::<f64, ()>(0.5);
        let found = search(&SIZES, |point| point, 100, 1, measure).await.unwrap();
        assert_eq!(found.point, [0; 4]);
        let failing = async |_: &Point| Err::<f64, &str>("gone");
        assert_eq!(search(&SIZES, |point| point, 100, 1, failing).await, Err("gone"));
    }
}
