//! Levels of the `words` rule: which terms are kept, and how they may be read.

use super::MatchingStrategy;
use super::graph::QueryGraph;

/// Number of droppable terms up to which all combinations to leave out are tried: 252 to leave out five of ten.
const FEW_TERMS: usize = 10;
/// Number of combinations of equally many terms to leave out that are tried if there are more than `FEW_TERMS`
/// droppable terms. Documents that only the other combinations would find are found with fewer terms, and the answer
/// reports that.
const WAYS_MAX: usize = 32;

/// Terms that a document must match, and the nodes that may cover them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    /// Terms, ascending.
    pub(crate) kept: Vec<usize>,
    /// Per kept term: nodes that start there.
    pub(crate) starting: Vec<Vec<usize>>,
    /// Words of the query that are not kept.
    pub(crate) missing_words: u32,
}

impl Level {
    /// Nodes that cover consecutive kept terms only; `usable` filters them.
    pub(crate) fn new(graph: &QueryGraph, kept: Vec<usize>, usable: impl Fn(usize) -> bool) -> Level {
        let starting = kept
            .iter()
            .enumerate()
            .map(|(at, &first)| {
                graph
                    .starting_at(first)
                    .filter(|(index, n)| {
                        (1..n.len).all(|i| kept.get(at + i) == Some(&(first + i))) && (n.len == 1 || usable(*index))
                    })
                    .map(|(index, _)| index)
                    .collect()
            })
            .collect();
        let kept_words: u32 = kept.iter().map(|&t| graph.terms[t].word_count()).sum();
        Level { kept, starting, missing_words: graph.word_count() - kept_words }
    }

    /// Words an attribute has that is exactly the kept terms: from one, when other terms are not in the index at all,
    /// to all of their positions.
    pub(crate) fn positions(&self, graph: &QueryGraph) -> std::ops::RangeInclusive<usize> {
        let all = self.kept.iter().map(|&t| {
            let term = &graph.terms[t];
            usize::from(term.last_position - term.first_position) + 1
        });
        1..=all.sum()
    }

    /// Ways to cover the kept terms, as node lists, single words first, and whether these are all.
    pub(crate) fn tilings(&self, graph: &QueryGraph) -> (Vec<Vec<usize>>, bool) {
        /// Bound on ways to join words. Their number doubles with each word that can be joined; answers say when there are more.
        const TILINGS_MAX: usize = 256;
        let mut out = Vec::new();
        let mut stack = vec![(0, Vec::new())];
        while let Some((at, path)) = stack.pop() {
            if at == self.kept.len() {
                out.push(path);
                if out.len() == TILINGS_MAX {
                    return (out, stack.is_empty());
                }
                continue;
            }
            // Depth first, shorter nodes first: pushed in reverse.
            for &node in self.starting[at].iter().rev() {
                let mut next = path.clone();
                next.push(node);
                stack.push((at + graph.nodes[node].len, next));
            }
        }
        (out, true)
    }

    /// The largest sum of `cost` over the nodes of a way to cover the kept terms. Linear in the number of nodes.
    pub(crate) fn most(&self, graph: &QueryGraph, cost: impl Fn(usize) -> u32) -> u32 {
        let mut most: Vec<Option<u32>> = vec![None; self.kept.len() + 1];
        most[0] = Some(0);
        for (at, starting) in self.starting.iter().enumerate() {
            let Some(so_far) = most[at] else { continue };
            for &node in starting {
                let end = &mut most[at + graph.nodes[node].len];
                *end = (*end).max(Some(so_far + cost(node)));
            }
        }
        most.pop().flatten().unwrap_or(0)
    }
}

/// Levels that leave out equally many terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The kept terms of each.
    pub(crate) ways: Vec<Vec<usize>>,
    /// True if `ways` contains all combinations.
    pub(crate) is_complete: bool,
}

impl Step {
    fn of_one(kept: Vec<usize>) -> Step {
        Step { ways: vec![kept], is_complete: true }
    }
}

/// The levels, best first. `frequencies`: documents of each term, 0 when unknown.
pub(crate) fn steps(graph: &QueryGraph, strategy: MatchingStrategy, frequencies: &[u64]) -> Vec<Step> {
    let all: Vec<usize> = (0..graph.terms.len()).collect();
    let droppable = || all.iter().copied().filter(|&t| !graph.terms[t].is_phrase());
    let has_phrase = droppable().count() < all.len();
    match strategy {
        MatchingStrategy::All | MatchingStrategy::Any => vec![Step::of_one(all)],
        MatchingStrategy::Last => {
            let dropped: Vec<usize> = droppable().rev().collect();
            let number = if has_phrase { dropped.len() } else { dropped.len().saturating_sub(1) };
            let without = |count: usize| all.iter().copied().filter(|t| !dropped[..count].contains(t)).collect();
            (0..=number).map(|count| Step::of_one(without(count))).collect()
        }
        MatchingStrategy::Frequency => {
            let frequency = |t: usize| if frequencies[t] == 0 { u64::MAX } else { frequencies[t] };
            let rarest = droppable().map(frequency).min();
            let removable: Vec<Option<u64>> = all
                .iter()
                .map(|&t| Some(frequency(t)).filter(|_| !graph.terms[t].is_phrase()))
                .map(|frequency| frequency.filter(|_| has_phrase || frequency != rarest))
                .collect();
            let number = removable.iter().flatten().count();
            let step = |dropped| kept_by_frequency(&removable, dropped);
            let mut steps: Vec<Step> = (0..=number).map(step).filter(|step| !step.ways.is_empty()).collect();
            if !has_phrase {
                let rarest: Vec<usize> = all.iter().copied().filter(|&t| Some(frequency(t)) == rarest).collect();
                steps.extend(kept_of_equals(&rarest));
            }
            steps
        }
    }
}

/// The steps behind those that leave all others out: of terms that are equally rare, ever fewer stay, and one of them at least.
fn kept_of_equals(rarest: &[usize]) -> impl Iterator<Item = Step> + '_ {
    let removable = vec![Some(1); rarest.len()];
    (1..rarest.len()).map(move |dropped| {
        let Step { mut ways, is_complete } = kept_by_frequency(&removable, dropped);
        ways.iter_mut().flatten().for_each(|term| *term = rarest[*term]);
        Step { ways, is_complete }
    })
}

/// The ways to leave out `dropped` terms, of those that have a frequency, such that no term that stands after one that
/// is left out, and is kept, is more frequent than that. Of terms before it nothing is asked: a frequent word early in
/// the query can stay in the place of a rarer one behind it.
fn kept_by_frequency(removable: &[Option<u64>], dropped: usize) -> Step {
    struct Partial {
        kept: Vec<usize>,
        at: usize,
        dropped: usize,
        /// The rarest term that is left out so far; more frequent ones can't be kept any more.
        rarest: u64,
    }
    let is_bounded = removable.iter().flatten().count() > FEW_TERMS;
    let mut ways = Vec::new();
    let mut stack = vec![Partial { kept: Vec::new(), at: 0, dropped, rarest: u64::MAX }];
    while let Some(mut partial) = stack.pop() {
        let Some(&frequency) = removable.get(partial.at) else {
            if partial.dropped == 0 {
                if is_bounded && ways.len() == WAYS_MAX {
                    return Step { ways, is_complete: false };
                }
                ways.push(partial.kept);
            }
            continue;
        };
        // Whatever passes here can be completed, by leaving out the most frequent terms, so no time goes into dead ends.
        let left = removable[partial.at..].iter().flatten();
        let cannot_stay = left.clone().filter(|&&frequency| frequency > partial.rarest).count();
        if !(cannot_stay..=left.count()).contains(&partial.dropped) {
            continue;
        }
        let at = partial.at;
        partial.at += 1;
        let can_stay = frequency.is_none_or(|frequency| frequency <= partial.rarest);
        if can_stay {
            let kept = partial.kept.iter().copied().chain([at]).collect();
            stack.push(Partial { kept, ..partial });
        }
        if let Some(frequency) = frequency.filter(|_| partial.dropped > 0) {
            let rarest = partial.rarest.min(frequency);
            stack.push(Partial { dropped: partial.dropped - 1, rarest, ..partial });
        }
    }
    Step { ways, is_complete: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_terms_are_left_out_first_but_may_stay_before_rarer_ones() {
        let kept = |frequencies: &[u64], dropped| {
            let removable: Vec<_> = frequencies.iter().map(|&f| Some(f).filter(|&f| f > 1)).collect();
            kept_by_frequency(&removable, dropped).ways
        };
        assert_eq!(kept(&[5, 9, 1], 0), [[0, 1, 2]]);
        // The most frequent one; or the rarer one before it, which then takes it along.
        assert_eq!(kept(&[5, 9, 1], 1), [[0, 2]]);
        assert_eq!(kept(&[5, 9, 1], 2), [[2]]);
        // The rarer one stands behind: it can go while the frequent one stays.
        assert_eq!(kept(&[9, 5, 1], 1), [[1, 2], [0, 2]]);
        assert_eq!(kept(&[7, 7, 1], 1), [[1, 2], [0, 2]]);
        assert_eq!(kept(&[7, 7, 1], 3), Vec::<Vec<usize>>::new());
        assert_eq!(kept(&[9, 8, 7, 6, 5, 4, 3, 2, 1], 4).len(), 70);
        assert_eq!(kept(&[11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1], 5).len(), 252);
    }

    #[test]
    fn of_equally_rare_terms_one_stays() {
        let sorted = |step: Step| {
            let mut ways = step.ways;
            ways.sort();
            ways
        };
        let ways = |rarest: &[usize]| kept_of_equals(rarest).map(sorted).collect::<Vec<_>>();
        assert_eq!(ways(&[3]), Vec::<Vec<Vec<usize>>>::new());
        assert_eq!(ways(&[1, 3]), [[[1], [3]]]);
        assert_eq!(ways(&[0, 1, 4]), [vec![vec![0, 1], vec![0, 4], vec![1, 4]], vec![vec![0], vec![1], vec![4]]]);
        assert!(ways(&(0..60).collect::<Vec<_>>()).iter().all(|ways| ways.len() <= WAYS_MAX));
    }

    #[test]
    fn of_many_terms_not_all_ways_are_looked_at() {
        let removable: Vec<Option<u64>> = (1..=FEW_TERMS as u64 + 1).rev().map(Some).collect();
        let step = kept_by_frequency(&removable, 5);
        assert_eq!((step.ways.len(), step.is_complete), (WAYS_MAX, false));
        let step = kept_by_frequency(&removable, 1);
        assert_eq!((step.ways.len(), step.is_complete), (removable.len(), true));
        // As many as are looked at, and no more.
        let removable: Vec<Option<u64>> = (1..=WAYS_MAX as u64).rev().map(Some).collect();
        let step = kept_by_frequency(&removable, 1);
        assert_eq!((step.ways.len(), step.is_complete), (WAYS_MAX, true));
    }

    #[test]
    fn all_ways_to_leave_out_terms_are_found() {
        const TERMS: u32 = 5;
        for number in 0..4usize.pow(TERMS) {
            let digit = |place| (number / 4usize.pow(place) % 4) as u64;
            let removable: Vec<_> = (0..TERMS).map(|place| Some(digit(place)).filter(|&f| f > 0)).collect();
            let mut expected = vec![Vec::new(); TERMS as usize + 1];
            for set in 0..1usize << TERMS {
                let (kept, left_out): (Vec<usize>, Vec<usize>) =
                    (0..TERMS as usize).partition(|&term| set >> term & 1 == 1);
                let stays = |one: usize, other: usize| one > other || removable[other] <= removable[one];
                if left_out.iter().all(|&one| removable[one].is_some() && kept.iter().all(|&other| stays(one, other))) {
                    expected[left_out.len()].push(kept);
                }
            }
            for (dropped, mut expected) in expected.into_iter().enumerate() {
                let mut found = kept_by_frequency(&removable, dropped).ways;
                expected.sort();
                found.sort();
                assert_eq!(found, expected, "{removable:?} {dropped}");
            }
        }
    }

    #[test]
    fn what_cannot_be_left_out_is_not_tried_in_every_combination() {
        // To leave out one of the rarer terms in front means to leave out all of those behind them.
        let (rare, frequent) = (50, 49);
        let removable: Vec<_> = [vec![Some(7); rare], vec![Some(9); frequent], vec![None]].concat();
        for dropped in [30, frequent, frequent + 1] {
            for kept in kept_by_frequency(&removable, dropped).ways {
                assert_eq!(kept.len(), removable.len() - dropped);
                let kept_rare = kept.iter().filter(|&&t| t < rare).count();
                assert!(kept_rare == rare || kept.len() == kept_rare + 1, "{kept:?}");
            }
        }
        assert_eq!(kept_by_frequency(&removable, rare + frequent).ways, [[rare + frequent]]);
    }
}
