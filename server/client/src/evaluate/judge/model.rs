//! A click model that knows positions: a document is clicked if its place was examined and it attracts. Both are fitted by expectation
//! maximisation (the position-based model of Craswell et al., 2008, "An experimental comparison of click position-bias models"; its
//! equations in Chuklin, Markov and de Rijke, 2015, "Click models for web search", section 4.2).
//!
//! Attraction and examination can be separated only where the same document of a query was shown at several places. Where few were,
//! examination is the rate of clicks of a place: then attraction is clicks over expected clicks (Zhang and Jones, 2007, "Comparing click
//! logs and editorial labels for training query rewriting").

use std::collections::BTreeMap;

/// Clicks on documents that were shown at several places, at least, to fit examination.
const CLICKS_MIN: u64 = 500;
/// Examinations by which the attraction of a document is pulled to the mean: few clicks say little.
const PRIOR: f64 = 2.0;
const ROUNDS_MAX: usize = 500;
/// Change of a probability that ends the rounds.
const CHANGE_MIN: f64 = 1e-5;

/// Counts of a document of a query at one place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    /// Number of the document of the query.
    pub(super) pair: usize,
    /// Counted from 0.
    pub(super) place: usize,
    pub(super) shown: u32,
    pub(super) clicks: u32,
}

/// A fitted model.
#[derive(Clone, Debug)]
pub(super) struct Fit {
    /// By pair: the probability of a click where the document is examined.
    pub(super) attraction: Vec<f64>,
    /// By place: the probability that it is examined, where the most examined one has 1.
    pub(super) examination: Vec<f64>,
    /// Attraction of all that was examined.
    pub(super) mean: f64,
    /// True if examination is fitted, false if it is the rate of clicks.
    pub(super) is_fitted: bool,
}

/// Events and occasions of a document or a place in a round, with their probabilities.
#[derive(Clone, Copy, Default)]
struct Credit {
    hits: f64,
    of: f64,
}

impl Fit {
    /// Fits the model to what was shown. `pairs` is one more than the largest number of a pair.
    pub(super) fn of(cells: &[Cell], pairs: usize) -> Fit {
        let places = cells.iter().map(|cell| cell.place + 1).max().unwrap_or(0);
        let (clicks, shown) = cells
            .iter()
            .fold((0.0, 0.0), |(clicks, shown), cell| (clicks + f64::from(cell.clicks), shown + f64::from(cell.shown)));
        let rate = if shown > 0.0 { clicks / shown } else { 0.0 };
        let mut by_place = vec![Credit { hits: rate, of: 1.0 }; places];
        for cell in cells {
            by_place[cell.place].hits += f64::from(cell.clicks);
            by_place[cell.place].of += f64::from(cell.shown);
        }
        let rates = by_place.iter().map(|credit| credit.hits / credit.of).collect();
        let mut fit = Fit { attraction: vec![0.5; pairs], examination: rates, mean: rate, is_fitted: separates(cells) };
        fit.scale();
        let mean = fit.mean_attraction(cells);
        fit.attraction.fill(mean);
        for _ in 0..ROUNDS_MAX {
            if fit.round(cells) < CHANGE_MIN {
                break;
            }
        }
        fit.mean = fit.mean_attraction(cells);
        fit
    }

    /// Returns the expected number of times that a document was examined.
    pub(super) fn examined(&self, cell: &Cell) -> f64 {
        self.examination[cell.place] * f64::from(cell.shown)
    }

    fn mean_attraction(&self, cells: &[Cell]) -> f64 {
        let clicks: f64 = cells.iter().map(|cell| f64::from(cell.clicks)).sum();
        let examined: f64 = cells.iter().map(|cell| self.examined(cell)).sum();
        if examined > 0.0 { (clicks / examined).min(1.0) } else { 0.0 }
    }

    /// Expectation, then maximisation. Returns the largest change of an attraction.
    fn round(&mut self, cells: &[Cell]) -> f64 {
        let mean = self.mean_attraction(cells);
        let mut attraction = vec![Credit { hits: PRIOR * mean, of: PRIOR }; self.attraction.len()];
        let mut examination = vec![Credit { hits: mean, of: 1.0 }; self.examination.len()];
        for cell in cells {
            let (attracts, examines) = (self.attraction[cell.pair], self.examination[cell.place]);
            let (clicks, shown) = (f64::from(cell.clicks), f64::from(cell.shown));
            // Without a click, one of both was missing.
            let none = (1.0 - attracts * examines).max(f64::EPSILON);
            let unclicked = shown - clicks;
            attraction[cell.pair].hits += clicks + unclicked * attracts * (1.0 - examines) / none;
            attraction[cell.pair].of += shown;
            examination[cell.place].hits += clicks + unclicked * examines * (1.0 - attracts) / none;
            examination[cell.place].of += shown;
        }
        let mut change = 0.0_f64;
        for (old, credit) in self.attraction.iter_mut().zip(attraction) {
            let new = (credit.hits / credit.of).clamp(0.0, 1.0);
            change = change.max((new - *old).abs());
            *old = new;
        }
        if self.is_fitted {
            self.examination = examination.iter().map(|credit| credit.hits / credit.of).collect();
            self.scale();
        }
        change
    }

    /// Only products are observed: the most examined place is examined always.
    fn scale(&mut self) {
        let most = self.examination.iter().copied().fold(0.0, f64::max);
        if most > 0.0 {
            self.examination.iter_mut().for_each(|examines| *examines /= most);
        }
    }
}

/// Returns whether enough was clicked that was shown at several places.
fn separates(cells: &[Cell]) -> bool {
    let mut by_pair: BTreeMap<usize, (usize, u64)> = BTreeMap::new();
    for cell in cells {
        let (places, clicks) = by_pair.entry(cell.pair).or_default();
        (*places, *clicks) = (*places + 1, *clicks + u64::from(cell.clicks));
    }
    let several = by_pair.values().filter(|(places, _)| *places > 1);
    several.map(|(_, clicks)| clicks).sum::<u64>() >= CLICKS_MIN
}

/// The interval of a share of so many (Wilson, 1927), for a normal deviate of 1.96: 95 %.
pub(super) fn wilson(hits: f64, of: f64) -> (f64, f64) {
    const Z: f64 = 1.96;
    if of <= 0.0 {
        return (0.0, 1.0);
    }
    let (share, z) = ((hits / of).min(1.0), Z * Z / of);
    let (centre, half) = (share + z / 2.0, (share * (1.0 - share) * z + z * z / 4.0).sqrt());
    (((centre - half) / (1.0 + z)).max(0.0), ((centre + half) / (1.0 + z)).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::statistics::Chance;

    /// Examined places as eye tracking found them (Joachims et al., 2005).
    const EXAMINED: [f64; 10] = [0.68, 0.61, 0.48, 0.34, 0.28, 0.20, 0.11, 0.10, 0.08, 0.06];

    fn happens(chance: &mut Chance, probability: f64) -> bool {
        chance.below(1 << 20) < (probability * f64::from(1 << 20)) as usize
    }

    /// Clicks on ten documents of each of so many queries; the documents attract by their number.
    fn clicked(queries: usize, sessions: usize, is_shuffled: bool) -> (Vec<Cell>, Vec<f64>) {
        let mut chance = Chance(5);
        let attracts = |pair: usize| 0.05 + 0.9 * ((pair * 7) % 10) as f64 / 9.0;
        let mut cells = BTreeMap::new();
        for query in 0..queries {
            let mut documents: Vec<usize> = (0..10).map(|n| query * 10 + n).collect();
            for _ in 0..sessions {
                if is_shuffled {
                    chance.shuffle(&mut documents);
                }
                for (place, pair) in documents.iter().enumerate() {
                    let cell = cells.entry((*pair, place)).or_insert((0, 0));
                    cell.0 += 1;
                    cell.1 += u32::from(happens(&mut chance, EXAMINED[place] * attracts(*pair)));
                }
            }
        }
        let cells = cells.into_iter().map(|((pair, place), (shown, clicks))| Cell { pair, place, shown, clicks });
        (cells.collect(), (0..queries * 10).map(attracts).collect())
    }

    #[test]
    fn attraction_and_examination_are_those_that_made_the_clicks() {
        let (cells, attracts) = clicked(30, 1000, true);
        let fit = Fit::of(&cells, attracts.len());
        assert!(fit.is_fitted);
        for (place, examined) in EXAMINED.iter().enumerate() {
            let expected = examined / EXAMINED[0];
            assert!((fit.examination[place] - expected).abs() < 0.05, "{place}: {:?}", fit.examination);
        }
        // The scale is that of the place which is examined most.
        let off = attracts.iter().zip(&fit.attraction).map(|(expected, found)| (expected * EXAMINED[0] - found).abs());
        let off = off.sum::<f64>() / attracts.len() as f64;
        assert!(off < 0.03, "{off}");
    }

    #[test]
    fn one_list_for_all_gives_clicks_over_expected_clicks() {
        let (cells, attracts) = clicked(200, 200, false);
        let fit = Fit::of(&cells, attracts.len());
        assert!(!fit.is_fitted);
        // Each place had the same documents, so its rate of clicks is what can be known.
        let at = |place: usize| fit.attraction.iter().skip(place).step_by(10).sum::<f64>() / 200.0;
        assert!((at(9) - at(1)).abs() < 0.05, "{} {}", at(9), at(1));
        let (cells, attracts) = clicked(3, 20, true);
        assert!(!Fit::of(&cells, attracts.len()).is_fitted, "few clicks");
    }

    #[test]
    fn few_clicks_stay_near_the_mean_and_odd_ones_are_no_fault() {
        let cell = |pair, shown, clicks| Cell { pair, place: 0, shown, clicks };
        let fit = Fit::of(&[cell(0, 1000, 500), cell(1, 1, 1), cell(2, 1, 0)], 4);
        assert!((fit.attraction[0] - 0.5).abs() < 0.01, "{fit:?}");
        assert!(fit.attraction[1] < 0.7, "{fit:?}");
        assert!(fit.attraction[2] > 0.3, "{fit:?}");
        assert!((fit.attraction[3] - fit.mean).abs() < 0.01, "never shown: {fit:?}");
        for (cells, expected) in [(vec![], 0.0), (vec![cell(0, 9, 0)], 0.0), (vec![cell(0, 9, 9)], 1.0)] {
            let fit = Fit::of(&cells, 1);
            assert!((fit.attraction[0] - expected).abs() < 1e-6, "{fit:?}");
            assert!(fit.examination.iter().all(|examines| (0.0..=1.0).contains(examines)), "{fit:?}");
        }
    }

    #[test]
    fn intervals_are_those_of_wilson() {
        let (low, high) = wilson(8.0, 10.0);
        assert!((low - 0.4902).abs() < 1e-3, "{low}");
        assert!((high - 0.9433).abs() < 1e-3, "{high}");
        assert_eq!(wilson(0.0, 0.0), (0.0, 1.0));
        assert_eq!(wilson(0.0, 5.0).0, 0.0);
        assert!(wilson(9.0, 5.0).1 <= 1.0);
    }
}
