//! The ranking rules of an index and the sort of a request, resolved to the steps of a comparison.

use crate::index::settings::RankingRule;
use crate::rank::key::{Key, KeyLayout};
use crate::rank::rules::GraphRule;
use crate::rank::top_k::Part;
use crate::sort::SortCriterion;

/// What is told about a hit, one entry per rule of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Words,
    Typo,
    Proximity,
    AttributeRank,
    WordPosition,
    /// `attributeRank` and `wordPosition` as one rule.
    Attribute,
    Exactness,
    /// Index into [`Plan::sorts`].
    Sort(usize),
}

impl Told {
    /// Graph rules this rule is made of.
    fn graph_rules(self) -> &'static [GraphRule] {
        match self {
            Told::Words => &[GraphRule::Words],
            Told::Typo => &[GraphRule::Typo],
            Told::Proximity => &[GraphRule::Proximity],
            Told::AttributeRank => &[GraphRule::AttributeRank],
            Told::WordPosition => &[GraphRule::WordPosition],
            Told::Attribute => &[GraphRule::AttributeRank, GraphRule::WordPosition],
            Told::Exactness => &[GraphRule::ExactAttribute, GraphRule::ExactWords],
            Told::Sort(_) => &[],
        }
    }
}

/// The order of hits.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// What hits are ordered by besides relevancy, in the order of first use.
    pub(crate) sorts: Vec<SortCriterion>,
    pub(crate) told: Vec<Told>,
    /// Every word is required: nothing to drop, so `words` is no rule.
    all_words: bool,
}

impl Plan {
    /// Resolves `rules` for a search with (`relevancy`) or without a query.
    ///
    /// The first of repeated rules counts. `words` comes before any other relevancy rule, listed or not, unless all
    /// words are required.
    pub(crate) fn new(rules: &[RankingRule], request: &[SortCriterion], relevancy: bool, all_words: bool) -> Plan {
        let mut plan = Plan { sorts: Vec::new(), told: Vec::new(), all_words };
        for rule in rules {
            let told = match rule {
                RankingRule::Words => Told::Words,
                RankingRule::Typo => Told::Typo,
                RankingRule::Proximity => Told::Proximity,
                RankingRule::Attribute => Told::Attribute,
                RankingRule::AttributeRank => Told::AttributeRank,
                RankingRule::WordPosition => Told::WordPosition,
                RankingRule::Exactness => Told::Exactness,
                RankingRule::Sort => {
                    request.iter().for_each(|c| plan.add_sort(c.clone()));
                    continue;
                }
                RankingRule::Asc(field) => {
                    plan.add_sort(SortCriterion::field(field, true));
                    continue;
                }
                RankingRule::Desc(field) => {
                    plan.add_sort(SortCriterion::field(field, false));
                    continue;
                }
            };
            if !relevancy || plan.told.contains(&told) {
                continue;
            }
            if told != Told::Words && !plan.told.contains(&Told::Words) && !all_words {
                plan.told.push(Told::Words);
            }
            if told != Told::Words || !all_words {
                plan.told.push(told);
            }
        }
        plan
    }

    fn add_sort(&mut self, criterion: SortCriterion) {
        if !self.sorts.iter().any(|s| s.same_target(&criterion)) {
            self.told.push(Told::Sort(self.sorts.len()));
            self.sorts.push(criterion);
        }
    }

    /// Whether documents that match more words always come first.
    pub(crate) fn words_first(&self) -> bool {
        self.all_words || self.told.first() == Some(&Told::Words)
    }

    /// Whether, among documents that match as many words, those with fewer typos come first.
    pub(crate) fn typo_first(&self) -> bool {
        let rest = self.told.strip_prefix(&[Told::Words]).unwrap_or(&self.told);
        self.words_first() && rest.first() == Some(&Told::Typo)
    }

    /// Whether `typo` comes before another rule.
    pub(crate) fn tells_typos_before(&self, rule: Told) -> bool {
        self.told.iter().take_while(|&&told| told != rule).any(|&told| told == Told::Typo)
    }

    /// The graph rules in order.
    pub(crate) fn graph_rules(&self) -> Vec<GraphRule> {
        let mut out = Vec::new();
        for &rule in self.told.iter().flat_map(|t| t.graph_rules()) {
            if !out.contains(&rule) {
                out.push(rule);
            }
        }
        out
    }

    /// The parts of a comparison: runs of graph rules, cut by sorts.
    pub(crate) fn parts(&self, layout: &KeyLayout) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut mask: Key = 0;
        for told in &self.told {
            if let Told::Sort(index) = told {
                if mask != 0 {
                    parts.push(Part::Graph(std::mem::take(&mut mask)));
                }
                parts.push(Part::Sort(*index));
            }
            for rule in told.graph_rules() {
                mask |= layout.slice(*rule).map_or(0, |s| s.mask());
            }
        }
        if mask != 0 {
            parts.push(Part::Graph(mask));
        }
        parts
    }
}
