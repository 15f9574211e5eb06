//! What the steps of a ranking saw, for those who ask.

use std::sync::atomic::Ordering::Relaxed;

use crate::rank::keyword::Ranked;
use crate::rank::rules::GraphRule;

/// Documents that came to one or more rules of the ranking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleCandidates {
    /// Several where one look at a document decides all of them.
    pub rules: Vec<&'static str>,
    pub documents: u64,
    /// What became of them, best first.
    pub groups: Vec<(String, u64)>,
}

impl GraphRule {
    fn name(self) -> &'static str {
        match self {
            GraphRule::Words => "words",
            GraphRule::Typo => "typo",
            GraphRule::Proximity => "proximity",
            GraphRule::AttributeRank => "attributeRank",
            GraphRule::WordPosition => "wordPosition",
            GraphRule::ExactAttribute | GraphRule::ExactWords => "exactness",
        }
    }
}

impl Ranked<'_> {
    /// What each step saw. To be called before the matching documents are taken away.
    pub(crate) fn told(&self) -> Vec<RuleCandidates> {
        let mut rules: Vec<&'static str> = self.search.plan.graph_rules().into_iter().map(GraphRule::name).collect();
        rules.dedup();
        let matching: u64 = self.matching.iter().map(|docs| u64::from(docs.len())).sum();
        let mut told = Vec::new();
        let words = self.search.graph.word_count();
        let of_levels = self.levels.chunk_by(|a, b| a.level.missing_words == b.level.missing_words).map(|levels| {
            let kept = words - levels[0].level.missing_words;
            (format!("{kept} of {words} words"), levels.iter().map(|level| u64::from(level.documents)).sum())
        });
        if words > 0 {
            told.push(RuleCandidates { rules: vec!["words"], documents: matching, groups: of_levels.collect() });
        }
        rules.retain(|rule| *rule != "words");
        if self.search.plan.typo_first() && words > 0 {
            let split: Vec<_> = self.levels.iter().filter_map(|r| Some((r.without_typo?, r.documents))).collect();
            let without: u64 = split.iter().map(|(without, _)| u64::from(*without)).sum();
            let all: u64 = split.iter().map(|(_, all)| u64::from(*all)).sum();
            let groups = vec![("no typo".to_owned(), without), ("typos".to_owned(), all - without)];
            told.push(RuleCandidates { rules: vec!["typo"], documents: all, groups });
            rules.retain(|rule| *rule != "typo");
        }
        let read = self.scanned.load(Relaxed);
        told.push(RuleCandidates { rules, documents: read, groups: Vec::new() });
        told
    }
}
