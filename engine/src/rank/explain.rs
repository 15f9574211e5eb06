//! What the steps of a ranking saw, for the explanation of a search.

use std::sync::atomic::Ordering::Relaxed;

use crate::rank::keyword::Ranked;
use crate::rank::plan::{Plan, PlannedRule};
use crate::sort::SortCriterion;

/// Documents that came to one or more rules of the ranking.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleCandidates {
    /// In their order; several where one look at a document decides all of them.
    pub rules: Vec<AppliedRule>,
    /// The place of the first of them among all rules, as in the details of hits.
    pub first: usize,
    pub documents: u64,
    /// Number of these that had to be read, because the others could not be among the hits. `None` for a rule that
    /// reads no documents.
    pub read: Option<u64>,
    /// Names and sizes of the groups that the rule made of them, best first.
    pub groups: Vec<(String, u64)>,
}

/// A ranking rule as one search applies it.
#[derive(Clone, Debug, PartialEq)]
pub enum AppliedRule {
    /// By its name in details of hits.
    Named(&'static str),
    Sort(SortCriterion),
}

impl Plan {
    fn applied(&self, rule: PlannedRule) -> AppliedRule {
        AppliedRule::Named(match rule {
            PlannedRule::Words => "words",
            PlannedRule::Typo => "typo",
            PlannedRule::Proximity => "proximity",
            PlannedRule::AttributeRank => "attributeRank",
            PlannedRule::WordPosition => "wordPosition",
            PlannedRule::Attribute => "attribute",
            PlannedRule::Exactness => "exactness",
            PlannedRule::Sort(index) => return AppliedRule::Sort(self.sorts[index].clone()),
        })
    }
}

impl Ranked<'_> {
    /// Reports the candidates of each step. Call it before the matching documents are taken away.
    pub(crate) fn report(&self) -> Vec<RuleCandidates> {
        let plan = self.context.search.plan;
        let compared = self.levels.iter().map(|ranked| u64::from(ranked.compared)).sum();
        let mut report: Vec<RuleCandidates> = Vec::new();
        for (place, &rule) in plan.rules.iter().enumerate() {
            let applied = plan.applied(rule);
            let (documents, groups) = match rule {
                PlannedRule::Words => self.by_words(),
                PlannedRule::Typo if plan.typo_first() => self.by_typos(),
                _ => {
                    match report.last_mut().filter(|before| before.read.is_some()) {
                        Some(look) => look.rules.push(applied),
                        None => report.push(RuleCandidates {
                            rules: vec![applied],
                            first: place,
                            documents: compared,
                            read: Some(self.scanned.load(Relaxed)),
                            groups: Vec::new(),
                        }),
                    }
                    continue;
                }
            };
            report.push(RuleCandidates { rules: vec![applied], first: place, documents, read: None, groups });
        }
        report
    }

    fn by_words(&self) -> (u64, Vec<(String, u64)>) {
        let words = self.context.search.graph.word_count();
        let of_levels = self.levels.chunk_by(|a, b| a.level.missing_words == b.level.missing_words).map(|levels| {
            let kept = words - levels[0].level.missing_words;
            (
                format!("{kept} of {words} {}", if words == 1 { "word" } else { "words" }),
                levels.iter().map(|level| u64::from(level.documents)).sum(),
            )
        });
        (self.matching.iter().map(|docs| u64::from(docs.len())).sum(), of_levels.collect())
    }

    /// Levels that could not change the hits any more were not parted.
    fn by_typos(&self) -> (u64, Vec<(String, u64)>) {
        let parted: Vec<_> = self.levels.iter().filter_map(|r| Some((r.without_typo?, r.documents))).collect();
        let without: u64 = parted.iter().map(|(without, _)| u64::from(*without)).sum();
        let all: u64 = parted.iter().map(|(_, all)| u64::from(*all)).sum();
        (all, vec![("no typo".to_owned(), without), ("typos".to_owned(), all - without)])
    }
}
