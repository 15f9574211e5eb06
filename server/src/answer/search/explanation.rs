//! `explanation` and `_explanation`: why hits are hits, why a document is none, and what it took.

use std::time::Duration;

use lamina_engine::index::settings::AttributeList;
use lamina_engine::rank::{AppliedRule, RuleCandidates, ScoreDetail};
use lamina_engine::search::{
    DocumentExplanation, Explanation, Hit, MatchKind, Stage, Standing, TermMatch, WordMatches,
};
use lamina_engine::sort::{SortCriterion, SortTarget};
use serde_json::{Map, Value, json};

use super::pins::Pinned;
use super::{Found, SEARCH, Target, details};

/// Returns the explanation of a hit; `None` unless it was requested.
pub(super) fn of_hit(explanation: Option<&Explanation>, hit: &Hit, displayed: &AttributeList) -> Option<Value> {
    let words = explanation?.matches.get(&hit.address);
    let mut shown = json!({
        "words": words.map(|words| words_of(words, displayed)),
        "rules": details::details(&hit.details, displayed),
    });
    if let [ScoreDetail::Pin { by, .. }] = hit.details.as_slice() {
        shown["pinnedBy"] = json!(**by);
    }
    Some(shown)
}

/// Returns the explanation of the search as a whole. `reason` returns the fate of the requested document, if it is
/// among the hits at this position.
pub(super) fn of_search(target: Target<'_>, found: &Found, reason: impl Fn(u64) -> &'static str) -> Value {
    let explanation = found.result.explanation.as_deref();
    let displayed = &target.snapshot.settings.displayed_attributes;
    let mut fields = Map::new();
    if let Some(explanation) = explanation {
        fields.insert("words".into(), json!(explanation.words));
        fields.insert("stages".into(), stages(&found.steps, &explanation.stages));
        fields.insert("rules".into(), explanation.rules.iter().map(|seen| of_rules(seen, displayed)).collect());
    }
    if !found.pinned.is_empty() {
        fields.insert("pins".into(), found.pinned.iter().map(Pinned::shown).collect());
    }
    fields.insert("limits".into(), json!(found.cuts()));
    if let Some(document) = explanation.and_then(|explanation| explanation.document.as_ref()) {
        fields.insert("document".into(), of_document(document, reason, displayed));
    }
    Value::Object(fields)
}

/// The steps of the server; the engine has those of its search.
fn stages(steps: &[(&'static str, Duration)], of_search: &[Stage]) -> Value {
    let mut shown = Vec::new();
    for &(name, took) in steps {
        if name != SEARCH {
            shown.push(Stage { name, took, documents: None });
        } else {
            shown.extend(of_search.iter().cloned());
        }
    }
    let one = |stage: &Stage| {
        let mut shown = json!({ "stage": stage.name, "took": format!("{:.2?}", stage.took) });
        if let Some(documents) = stage.documents {
            shown["documents"] = json!(documents);
        }
        shown
    };
    shown.iter().map(one).collect()
}

/// Rules have the names that they have in `_explanation.rules` of hits.
fn of_rules(seen: &RuleCandidates, displayed: &AttributeList) -> Value {
    let name = |(order, rule): (usize, &AppliedRule)| match rule {
        AppliedRule::Named(name) => (*name).to_owned(),
        AppliedRule::Sort(SortCriterion { target, ascending }) => match target {
            SortTarget::Field(field) | SortTarget::Elements { name: field, .. } => {
                details::field_key(field, *ascending, displayed, order)
            }
            SortTarget::GeoPoint { lat, lng } => details::geo_key(*lat, *lng, *ascending),
            SortTarget::Computed { name, field, .. } => details::boost_key(name, field.as_deref(), displayed, order),
        },
    };
    let names: Vec<String> = (seen.first..).zip(&seen.rules).map(name).collect();
    let groups: Map<String, Value> =
        seen.groups.iter().map(|(group, documents)| (group.clone(), json!(documents))).collect();
    let mut shown = json!({ "rules": names, "documents": seen.documents, "groups": groups });
    if let Some(read) = seen.read {
        shown["read"] = json!(read);
    }
    shown
}

/// The document is shown.
pub(crate) const HIT: &str = "hit";
/// A better hit has the same value of the distinct attribute.
pub(crate) const NOT_DISTINCT: &str = "notDistinct";
/// The document is on another page.
pub(crate) const OUTSIDE: &str = "outsideOfPage";

/// Returns the fate of the hit at a position of the list of which `found` is a page.
pub(super) fn on_page(found: &Found, place: u64) -> &'static str {
    let window = found.window;
    let place = usize::try_from(place).unwrap_or(usize::MAX);
    if (window.offset..window.offset.saturating_add(window.limit)).contains(&place) {
        HIT
    } else if place >= window.total_max {
        "beyondMaxTotalHits"
    } else {
        OUTSIDE
    }
}

fn of_document(
    document: &DocumentExplanation,
    reason: impl Fn(u64) -> &'static str,
    displayed: &AttributeList,
) -> Value {
    let (reason, more) = match &document.standing {
        Standing::Unknown => ("documentNotFound", json!({})),
        Standing::Deleted => ("documentDeleted", json!({})),
        Standing::Filtered { parts } => ("filteredOut", json!({ "failingFilters": parts })),
        Standing::Excluded { words } => ("excludedByQuery", json!({ "excludedWords": words })),
        Standing::MissingWords { words } => ("missingWords", json!({ "missingWords": words })),
        Standing::BelowThreshold => ("belowRankingScoreThreshold", json!({})),
        Standing::NotDistinct => (NOT_DISTINCT, json!({})),
        Standing::NotRanked => ("searchCutoff", json!({})),
        Standing::Hit { place } => (reason(*place), json!({ "position": place })),
    };
    let mut shown = json!({ "documentId": document.id, "isHit": reason == HIT, "reason": reason });
    if let (Value::Object(shown), Value::Object(more)) = (&mut shown, more) {
        shown.extend(more);
        if !document.words.is_empty() {
            shown.insert("words".into(), words_of(&document.words, displayed));
        }
        if let Some(score) = document.score {
            shown.insert("rankingScore".into(), json!(score));
            shown.insert("rules".into(), details::details(&document.details, displayed));
        }
        if let Some(nearness) = document.nearness {
            let nearness = json!({ "similarity": nearness.similarity, "position": nearness.place });
            shown.insert("nearness".into(), nearness);
        }
    }
    shown
}

/// Attributes that are not displayed are not named, and what stands in them is not shown.
fn words_of(words: &[WordMatches], displayed: &AttributeList) -> Value {
    let one = |found: &TermMatch| {
        let how = kind(found.kind);
        if displayed.selects(&found.field) {
            json!({ "attribute": found.field, "term": found.term, "match": how, "positions": found.positions })
        } else {
            json!({ "attribute": "<hidden>", "match": how })
        }
    };
    let shown = words.iter().map(|word| {
        let matches: Vec<Value> = word.matches.iter().map(one).collect();
        json!({ "word": word.word, "isMatched": !matches.is_empty(), "matches": matches })
    });
    shown.collect()
}

fn kind(kind: MatchKind) -> &'static str {
    match kind {
        MatchKind::Exact => "exact",
        MatchKind::Phrase => "phrase",
        MatchKind::Prefix => "prefix",
        MatchKind::Synonym => "synonym",
        MatchKind::Stem => "stem",
        MatchKind::OneTypo => "oneTypo",
        MatchKind::TwoTypos => "twoTypos",
        MatchKind::Split => "split",
        MatchKind::Concatenation => "concatenation",
    }
}
