//! Lists of rules.

use std::sync::Arc;

use lamina_engine::text::{TextBuffer, Tokenizer};
use lamina_protocol::wire::rules::ListBody;

use super::{Rule, Rules};

/// A search term: one word, or the consecutive words of a phrase.
type Term = Vec<String>;

impl Rules {
    /// The rules that a list asks for, and how many there are on all pages. Those that hold more of the words that are looked
    /// for come first, then those that were changed last. Goes through all rules.
    pub fn list(&self, asked: &ListBody) -> (Vec<Arc<Rule>>, usize) {
        let terms = terms(asked.query.as_deref().unwrap_or(""));
        let is_asked = asked.query.as_deref().is_some_and(|query| !query.trim().is_empty());
        let found = |rule: Arc<Rule>| {
            if asked.active.is_some_and(|active| rule.active != active) {
                return None;
            }
            let held = if is_asked { held(&rule, &terms) } else { 0 };
            (held > 0 || !is_asked).then_some((held, rule))
        };
        let mut all: Vec<(usize, Arc<Rule>)> = self.all().into_iter().filter_map(found).collect();
        // Of two that were changed in one moment, the one that was made later.
        all.reverse();
        all.sort_by(|(held, rule), (other_held, other)| {
            other_held.cmp(held).then_with(|| other.last_updated_at.cmp(&rule.last_updated_at))
        });
        let total = all.len();
        let page = all.into_iter().skip(asked.offset).take(asked.limit);
        (page.map(|(_, rule)| rule).collect(), total)
    }
}

/// The words of a text as they are compared.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    Tokenizer::default().words(text, &[], &mut TextBuffer::default(), &mut |word, _| words.push(word.to_owned()));
    words
}

/// Returns the terms of a query: words, and phrases in quotes.
fn terms(query: &str) -> Vec<Term> {
    let mut terms = Vec::new();
    for (place, part) in query.split('"').enumerate() {
        let words = words(part);
        match place % 2 {
            1 if !words.is_empty() => terms.push(words),
            1 => {}
            _ => terms.extend(words.into_iter().map(|word| vec![word])),
        }
    }
    terms
}

/// Counts the terms that a rule holds, up to the first one that it does not hold.
fn held(rule: &Rule, terms: &[Term]) -> usize {
    let condition = rule.conditions.query.as_ref().and_then(|query| query.words.as_deref());
    let texts = [rule.description.as_deref(), condition].map(|text| words(text.unwrap_or("")));
    let holds =
        |term: &&Term| texts.iter().any(|text| text.windows(term.len()).any(|window| window == term.as_slice()));
    terms.iter().take_while(holds).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lamina_base::timestamp::Timestamp;
    use lamina_protocol::wire::rules::{list_body, patch};
    use serde_json::{Value, json};

    fn listed(rules: &Rules, body: Value) -> (Vec<String>, usize) {
        let (found, total) = rules.list(&list_body(&body).unwrap());
        (found.iter().map(|rule| rule.uid.clone()).collect(), total)
    }

    #[test]
    fn the_newest_come_first_and_among_those_that_hold_the_words() {
        let rules = Rules::default();
        let mut draft = rules.draft();
        for (at, uid, body) in [
            (1, "one", json!({"description": "Summer sale banner"})),
            (2, "two", json!({"description": "winter Sales", "active": false})),
            (3, "three", json!({"conditions": {"query": {"words": "sale"}}})),
        ] {
            draft.patch(uid, &patch(&body).unwrap(), Timestamp::from_nanos(at));
        }
        rules.follow(&draft.into_changes());
        let query = |query: &str| listed(&rules, json!({"filter": {"query": query}})).0;
        assert_eq!(listed(&rules, json!({})), (vec!["three".into(), "two".into(), "one".into()], 3));
        assert_eq!(listed(&rules, json!({"offset": 1, "limit": 1})), (vec!["two".into()], 3));
        assert_eq!(listed(&rules, json!({"filter": {"active": false}})), (vec!["two".into()], 1));
        assert_eq!(query("SALE"), ["three", "one"], "whole words");
        assert_eq!(query("sale summer"), ["one", "three"], "more words come first");
        assert_eq!(query("\"sale banner\""), ["one"]);
        assert_eq!(query("\"summer banner\""), [""; 0]);
        assert_eq!(query("sal"), [""; 0]);
        assert_eq!(query("three"), [""; 0], "uids are not looked into");
        assert_eq!(query(""), ["three", "two", "one"]);
    }
}
