//! Which way of searching is the best, if that can be said.

use std::fmt;

use serde_json::{Value, json};

use super::report::Measured;
use super::statistics::{Comparison, compare};

/// Conclusion of a run about all its variants.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Verdict {
    /// Names of the first way, and of the one with the highest nDCG.
    first: String,
    best: String,
    /// Comparison of the best variant with the first; `None` if the first is the best.
    compared: Option<Comparison>,
    /// Differences that chance makes as seldom as this are none of chance. The more ways are compared with the first, the more often
    /// chance makes one of them look good: so it is divided by their number.
    p_max: f64,
}

impl Verdict {
    pub(super) fn of(measured: &[Measured], confidence: f64) -> Verdict {
        let others = measured.len().saturating_sub(1).max(1);
        let p_max = (1.0 - confidence) / others as f64;
        let name = |way: Option<&Measured>| way.map(|way| way.name.clone()).unwrap_or_default();
        let first = measured.first();
        // Of those that are as good, the first.
        let best = measured.iter().rev().max_by(|one, other| one.ndcg().total_cmp(&other.ndcg()));
        let compared = first.zip(best).filter(|(first, best)| !std::ptr::eq(*first, *best));
        let compared = compared.map(|(first, best)| compare(&first.ndcgs(), &best.ndcgs(), confidence));
        Verdict { first: name(first), best: name(best), compared, p_max }
    }

    /// The way that is better than the first beyond chance.
    pub(super) fn winner(&self) -> Option<&str> {
        let is_beyond_chance = |found: &Comparison| found.difference > 0.0 && found.p <= self.p_max;
        self.compared.as_ref().filter(|found| is_beyond_chance(found)).map(|_| &*self.best)
    }

    pub(super) fn as_json(&self) -> Value {
        json!({ "winner": self.winner(), "best": self.best, "p": self.compared.map(|found| found.p), "pMax": self.p_max })
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Verdict { first, best, compared, p_max } = self;
        match (compared, self.winner()) {
            (None, _) => write!(f, "No winner: nothing has a higher nDCG than {first}."),
            (Some(found), Some(winner)) => write!(
                f,
                "Winner: {winner}, nDCG {:+.4} against {first}, p = {:.4} (significant up to {p_max:.4}).",
                found.difference, found.p
            ),
            (Some(found), None) => write!(
                f,
                "No winner: the difference of {best} and {first}, nDCG {:+.4}, may be chance: p = {:.4} (significant up to \
                 {p_max:.4}).",
                found.difference, found.p
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::asking::Answer;
    use super::super::measure::Measures;
    use super::*;

    fn way(name: &str, ndcg: impl Iterator<Item = f64>) -> Measured {
        let measures = |ndcg| Measures { ndcg, mrr: ndcg, recall: 1.0, precision: 0.1 };
        let answers = ndcg.map(|ndcg| Answer { measures: measures(ndcg), hits: Vec::new() });
        Measured { name: name.into(), answers: answers.collect() }
    }

    #[test]
    fn only_what_is_no_chance_wins() {
        let flat = |value: f64| std::iter::repeat_n(value, 40);
        let ways = [way("first", flat(0.5)), way("better", flat(0.6)), way("worse", flat(0.4))];
        let verdict = Verdict::of(&ways, 0.95);
        assert_eq!(verdict.winner(), Some("better"));
        assert!(verdict.to_string().starts_with("Winner: better, nDCG +0.1000 against first"), "{verdict}");
        let mixed = (0..40).map(|n| if n % 2 == 0 { 0.9 } else { 0.11 });
        let verdict = Verdict::of(&[way("first", flat(0.5)), way("mixed", mixed)], 0.95);
        assert_eq!((verdict.winner(), &verdict.as_json()["best"]), (None, &json!("mixed")));
        assert!(verdict.to_string().contains("may be chance"), "{verdict}");
        for ways in [&ways[2..], &[]] {
            assert_eq!(Verdict::of(ways, 0.95).winner(), None);
        }
        // Among many, chance finds some that look good: five questions in favour are enough for one, and not for fifty.
        let slightly = || (0..40).map(|n| if n < 6 { 0.6 } else { 0.5 });
        let mut many = vec![way("first", flat(0.5))];
        many.push(way("slightly", slightly()));
        assert_eq!(Verdict::of(&many, 0.95).winner(), Some("slightly"));
        many.extend((0..49).map(|_| way("same", flat(0.5))));
        assert_eq!(Verdict::of(&many, 0.95).winner(), None);
    }
}
