//! A sequential test: it may be looked at as often as one likes.

use serde_json::{Value, json};

/// Probability that equal variants are called different, ever.
const ERROR_RATE: f64 = 0.05;
/// Number of votes around which the test decides soonest. It is honest with any.
const PRIOR_VOTES: f64 = 100.0;

/// Votes for the variant (positive) or for the control, in the order in which they were settled.
///
/// Under the null hypothesis each vote has mean 0, given those before it, because a coin of the server has decided what its user
/// saw; votes span a range of 2 at most. So the mixture of likelihood ratios `sqrt(r / (n + r)) * exp(sum^2 / (2 (n + r)))`, `r` being
/// [`PRIOR_VOTES`], is a supermartingale that ever exceeds `1 / ERROR_RATE` with a probability of at most `ERROR_RATE` (Robbins, 1970,
/// "Statistical methods related to the law of the iterated logarithm"; for bounded values Howard, Ramdas, McAuliffe and Sekhon, 2021,
/// "Time-uniform, nonparametric, nonasymptotic confidence sequences").
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Evidence {
    votes: u64,
    sum: f64,
    /// Largest logarithm of the mixture so far.
    strongest: f64,
    /// True for the variant, once there is a winner.
    winner: Option<bool>,
}

impl Evidence {
    pub(super) fn add(&mut self, vote: f64) {
        self.votes += 1;
        self.sum += vote;
        let count = self.votes as f64 + PRIOR_VOTES;
        let mixture = self.sum * self.sum / (2.0 * count) - (count / PRIOR_VOTES).ln() / 2.0;
        self.strongest = self.strongest.max(mixture);
        if mixture >= -ERROR_RATE.ln() {
            self.winner.get_or_insert(self.sum > 0.0);
        }
    }

    /// True for the variant. Once there is one, it stays.
    pub(super) fn winner(&self) -> Option<bool> {
        self.winner
    }

    /// The fields of an answer: the mean vote lies between `low` and `high` with 95 % confidence, at all times together.
    pub(super) fn shown(&self) -> Value {
        let count = self.votes as f64;
        let around = count + PRIOR_VOTES;
        let radius = (around * ((around / PRIOR_VOTES).ln() - 2.0 * ERROR_RATE.ln())).sqrt() / count;
        let shown = |value: f64| (self.votes > 0).then(|| (value.clamp(-1.0, 1.0) * 1e4).round() / 1e4);
        let mean = self.sum / count;
        json!({
            "votes": self.votes,
            "preference": shown(mean),
            "low": shown(mean - radius),
            "high": shown(mean + radius),
            "pValue": (-self.strongest).exp(),
            "winner": self.winner.map(|is_variant| if is_variant { "variant" } else { "control" })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::search::{Team, draft};

    /// Rates at which places are looked at; see `scripts/simulate.py`.
    const EXAMINED: [f64; 10] = [0.68, 0.61, 0.48, 0.34, 0.28, 0.20, 0.11, 0.10, 0.08, 0.06];
    const NOISE: f64 = 0.2;
    const QUERIES: usize = 250;
    const DOCUMENTS: usize = 15;

    /// A reproducible stream of numbers.
    struct Chance(u64);

    impl Chance {
        fn bits(&mut self) -> u64 {
            self.0 += 1;
            xxhash_rust::xxh3::xxh3_64(&self.0.to_le_bytes())
        }

        fn share(&mut self) -> f64 {
            self.bits() as f64 / u64::MAX as f64
        }

        fn below(&mut self, end: usize) -> usize {
            (self.bits() % end as u64) as usize
        }
    }

    /// A query: which documents are relevant, and two rankings of them.
    struct Query {
        is_relevant: [bool; DOCUMENTS],
        control: Vec<usize>,
        variant: Vec<usize>,
    }

    /// In three of ten queries the variant has a relevant document one to three places higher; in half of the others, two hits change places.
    fn query(chance: &mut Chance) -> Query {
        let mut is_relevant = [false; DOCUMENTS];
        for _ in 0..[1, 1, 2, 3][chance.below(4)] {
            let place =
                if chance.share() < 0.3 { chance.below(DOCUMENTS) } else { (-chance.share().ln() / 0.6) as usize };
            is_relevant[place % DOCUMENTS] = true;
        }
        let control: Vec<usize> = (0..DOCUMENTS).collect();
        let mut variant = control.clone();
        let improvable: Vec<usize> = (1..DOCUMENTS).filter(|document| is_relevant[*document]).collect();
        if chance.share() < 0.3 && !improvable.is_empty() {
            let document = improvable[chance.below(improvable.len())];
            variant.remove(document);
            variant.insert(document.saturating_sub(1 + chance.below(3)), document);
        } else if chance.share() < 0.5 {
            let place = chance.below(9);
            variant.swap(place, place + 1);
        }
        Query { is_relevant, control, variant }
    }

    fn ndcg(query: &Query, ranking: &[usize]) -> f64 {
        let gain = |place: usize| 1.0 / (place as f64 + 2.0).log2();
        let relevant = query.is_relevant.iter().filter(|is| **is).count();
        let found = ranking.iter().take(10).enumerate().filter(|(_, document)| query.is_relevant[**document]);
        found.map(|(place, _)| gain(place)).sum::<f64>() / (0..relevant).map(gain).sum::<f64>()
    }

    /// The vote of a session, if it has one.
    fn session(query: &Query, chance: &mut Chance) -> f64 {
        let drafted = draft(query.control.clone(), query.variant.clone(), |document| *document, 10, chance.bits());
        let mut balance = 0.0_f64;
        for ((document, team), examined) in drafted.into_iter().zip(EXAMINED) {
            let errs = chance.share() < NOISE;
            if query.is_relevant[document] != errs && chance.share() < examined {
                balance += match team {
                    Team::Neither => 0.0,
                    Team::Control => -1.0,
                    Team::Variant => 1.0,
                };
            }
        }
        if balance == 0.0 { 0.0 } else { balance.signum() }
    }

    /// The winner of an experiment of so many sessions, which is looked at after each of them, and how much better the variant is.
    fn experiment(seed: u64, sessions: usize, are_equal: bool) -> (Option<bool>, f64) {
        let mut chance = Chance(seed << 32);
        let mut queries: Vec<Query> = (0..QUERIES).map(|_| query(&mut chance)).collect();
        if are_equal {
            // Each query a second time, with the rankings exchanged.
            let others = queries.iter().map(|query| Query {
                is_relevant: query.is_relevant,
                control: query.variant.clone(),
                variant: query.control.clone(),
            });
            let others: Vec<Query> = others.collect();
            queries.extend(others);
        }
        let gains = queries.iter().map(|query| ndcg(query, &query.variant) - ndcg(query, &query.control));
        let gain = gains.sum::<f64>() / queries.len() as f64;
        let mut evidence = Evidence::default();
        for _ in 0..sessions {
            let vote = session(&queries[chance.below(queries.len())], &mut chance);
            if vote != 0.0 {
                evidence.add(vote);
            }
        }
        (evidence.winner(), gain)
    }

    /// `LAMINA_EXPERIMENTS=1000` runs so many of each kind.
    fn experiments(few: u64) -> u64 {
        std::env::var("LAMINA_EXPERIMENTS").ok().and_then(|count| count.parse().ok()).unwrap_or(few)
    }

    #[test]
    fn equal_variants_are_hardly_ever_called_different() {
        let count = experiments(200);
        let called = (0..count).filter(|seed| experiment(*seed, 5000, true).0.is_some()).count();
        println!("equal: {called} of {count} called different");
        assert!(called as f64 <= 0.05 * count as f64, "{called} of {count}");
    }

    #[test]
    fn a_ranking_that_is_better_by_0_03_is_found_within_5000_sessions() {
        let count = experiments(50);
        let all: Vec<_> = (0..count).map(|seed| experiment(seed, 5000, false)).collect();
        let found = all.iter().filter(|(winner, _)| *winner == Some(true)).count();
        let gain = all.iter().map(|(_, gain)| gain).sum::<f64>() / count as f64;
        println!("better by {gain:.4}: {found} of {count} found");
        assert!((0.025..0.035).contains(&gain), "{gain}");
        assert!(found as f64 >= 0.9 * count as f64, "{found} of {count}");
        assert!(all.iter().all(|(winner, _)| *winner != Some(false)));
    }

    #[test]
    fn a_winner_stays_and_nothing_has_none() {
        let mut evidence = Evidence::default();
        assert_eq!(evidence.shown()["preference"], Value::Null);
        assert_eq!(evidence.shown()["pValue"], 1.0);
        (0..40).for_each(|_| evidence.add(-1.0));
        assert_eq!(evidence.winner(), Some(false));
        let before = evidence.shown();
        assert!(before["high"].as_f64().unwrap() < 0.0, "{before}");
        (0..40).for_each(|_| evidence.add(1.0));
        assert_eq!((evidence.winner(), &evidence.shown()["pValue"]), (Some(false), &before["pValue"]));
    }
}
