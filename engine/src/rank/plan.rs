//! The ranking rules of an index and the sort of a request, resolved to the steps of a comparison.

use lamina_index::index::settings::RankingRule;

use crate::rank::key::{Key, KeyLayout};
use crate::rank::rules::GraphRule;
use crate::rank::top_k::KeyPart;
use crate::sort::{SortCriterion, SortTarget};

/// A rule of the order: one entry each in the details of a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlannedRule {
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

impl PlannedRule {
    /// Graph rules this rule is made of.
    fn graph_rules(self) -> &'static [GraphRule] {
        match self {
            PlannedRule::Words => &[GraphRule::Words],
            PlannedRule::Typo => &[GraphRule::Typo, GraphRule::Forms],
            PlannedRule::Proximity => &[GraphRule::Proximity],
            PlannedRule::AttributeRank => &[GraphRule::AttributeRank],
            PlannedRule::WordPosition => &[GraphRule::WordPosition],
            PlannedRule::Attribute => &[GraphRule::AttributeRank, GraphRule::WordPosition],
            PlannedRule::Exactness => &[GraphRule::ExactAttribute, GraphRule::ExactWords],
            PlannedRule::Sort(_) => &[],
        }
    }
}

/// The order of hits.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Criteria besides relevancy by which hits are ordered, in the order of first use.
    pub(crate) sorts: Vec<SortCriterion>,
    pub(crate) rules: Vec<PlannedRule>,
    /// Every word is required: nothing to drop, so `words` is no rule.
    all_words: bool,
}

impl Plan {
    /// Resolves `rules` for a search with (`relevancy`) or without a query.
    ///
    /// The first of repeated rules counts. `words` comes before any other relevancy rule, listed or not, unless all
    /// words are required.
    pub(crate) fn new(rules: &[RankingRule], request: &[SortCriterion], relevancy: bool, all_words: bool) -> Plan {
        let mut plan = Plan { sorts: Vec::new(), rules: Vec::new(), all_words };
        let mut boosts = 0;
        for rule in rules {
            let rule = match rule {
                RankingRule::Words => PlannedRule::Words,
                RankingRule::Typo => PlannedRule::Typo,
                RankingRule::Proximity => PlannedRule::Proximity,
                RankingRule::Attribute => PlannedRule::Attribute,
                RankingRule::AttributeRank => PlannedRule::AttributeRank,
                RankingRule::WordPosition => PlannedRule::WordPosition,
                RankingRule::Exactness => PlannedRule::Exactness,
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
                RankingRule::Boost(rule) => {
                    let target = SortTarget::Computed {
                        index: boosts,
                        name: rule.name(),
                        field: rule.field().map(str::to_owned),
                    };
                    boosts += 1;
                    plan.add_sort(SortCriterion { target, ascending: false });
                    continue;
                }
            };
            if !relevancy || plan.rules.contains(&rule) {
                continue;
            }
            if rule != PlannedRule::Words && !plan.rules.contains(&PlannedRule::Words) && !all_words {
                plan.rules.push(PlannedRule::Words);
            }
            if rule != PlannedRule::Words || !all_words {
                plan.rules.push(rule);
            }
        }
        plan
    }

    /// Makes all boosts one criterion, their product, in the place of the first.
    pub(crate) fn join_boosts(&mut self) {
        let is_boost = |sort: &SortCriterion| matches!(sort.target, SortTarget::Computed { .. });
        let all: Vec<usize> = (0..self.sorts.len()).filter(|&index| is_boost(&self.sorts[index])).collect();
        let [first, rest @ ..] = all.as_slice() else { return };
        if !rest.is_empty() {
            self.sorts[*first].target = SortTarget::Computed { index: usize::MAX, name: "boosts", field: None };
            self.rules.retain(|rule| !matches!(rule, PlannedRule::Sort(index) if rest.contains(index)));
        }
    }

    fn add_sort(&mut self, criterion: SortCriterion) {
        if !self.sorts.iter().any(|s| s.same_target(&criterion)) {
            self.rules.push(PlannedRule::Sort(self.sorts.len()));
            self.sorts.push(criterion);
        }
    }

    /// Reports whether documents that match more words always come first.
    pub(crate) fn words_first(&self) -> bool {
        self.all_words || self.rules.first() == Some(&PlannedRule::Words)
    }

    /// Reports whether documents with fewer typos come first among those that match equally many words.
    pub(crate) fn typo_first(&self) -> bool {
        let rest = self.rules.strip_prefix(&[PlannedRule::Words]).unwrap_or(&self.rules);
        self.words_first() && rest.first() == Some(&PlannedRule::Typo)
    }

    /// Reports whether `typo` is a rule before `later`.
    pub(crate) fn has_typo_before(&self, later: PlannedRule) -> bool {
        self.rules.iter().take_while(|&&rule| rule != later).any(|&rule| rule == PlannedRule::Typo)
    }

    /// The graph rules in order.
    pub(crate) fn graph_rules(&self) -> Vec<GraphRule> {
        let mut out = Vec::new();
        for &rule in self.rules.iter().flat_map(|t| t.graph_rules()) {
            if !out.contains(&rule) {
                out.push(rule);
            }
        }
        out
    }

    /// The parts of a comparison: runs of graph rules, cut by sorts.
    pub(crate) fn parts(&self, layout: &KeyLayout) -> Vec<KeyPart> {
        let mut parts = Vec::new();
        let mut mask: Key = 0;
        for rule in &self.rules {
            if let PlannedRule::Sort(index) = rule {
                if mask != 0 {
                    parts.push(KeyPart::Graph(std::mem::take(&mut mask)));
                }
                parts.push(KeyPart::Sort(*index));
            }
            for rule in rule.graph_rules() {
                mask |= layout.slice(*rule).map_or(0, |s| s.mask());
            }
        }
        if mask != 0 {
            parts.push(KeyPart::Graph(mask));
        }
        parts
    }
}
