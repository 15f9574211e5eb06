//! Requests that failed, reported in the order of the input.

use serde_json::{Value, json};

use super::place::Place;

/// Further failures are reported by their places alone: reasons may be long, and most are the same.
const REASONS_MAX: usize = 20;

/// Documents that did not become searchable.
#[derive(Default)]
pub(super) struct Failures(Vec<Failure>);

#[derive(Clone)]
struct Failure {
    /// Number of the file among the inputs.
    input: usize,
    place: Place,
    reason: Option<String>,
}

impl Failures {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add(&mut self, input: usize, place: Place, reason: String) {
        let reason = (self.0.len() < REASONS_MAX).then_some(reason);
        self.0.push(Failure { input, place, reason });
    }

    /// In the order of the input; neighbours that failed alike are one.
    fn sorted(&self) -> Vec<Failure> {
        let mut sorted = self.0.clone();
        sorted.sort_by_key(|failure| (failure.input, failure.place.first_document));
        sorted.dedup_by(|next, one| {
            next.input == one.input && next.reason == one.reason && one.place.extend(&next.place)
        });
        sorted
    }

    /// An object for each.
    pub(super) fn as_json(&self) -> Value {
        let object = |Failure { place, reason, .. }: &Failure| {
            json!({
                "file": place.file,
                "firstDocument": place.first_document,
                "lastDocument": place.last_document(),
                "firstLine": place.first_line,
                "lastLine": place.last_line,
                "message": reason,
            })
        };
        self.sorted().iter().map(object).collect()
    }

    /// A line for each.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |Failure { place, reason, .. }: &Failure| match reason {
            Some(reason) => format!("{place} failed: {reason}"),
            None => format!("{place} failed too"),
        };
        self.sorted().iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::Format;

    #[test]
    fn every_failure_is_reported_with_its_place() {
        let mut failures = Failures::default();
        let mut add = |input: usize, document: u64, reason: &str| {
            let place = Place {
                file: format!("file{input}").into(),
                format: Format::Ndjson,
                first_document: document,
                document_count: 1,
                first_line: document,
                last_line: document,
                column: 1,
                header_lines: 0,
            };
            failures.add(input, place, reason.to_owned());
        };
        // In the order in which they fail: the first twenty have reasons.
        for document in (1..=18).rev() {
            add(1, document, &format!("reason {document}"));
        }
        add(0, 8, "same");
        add(0, 7, "same");
        for document in [20, 19, 22] {
            add(1, document, "untold");
        }
        let lines = failures.lines();
        assert_eq!(lines[0], "file0: documents 7 to 8 (lines 7 to 8) failed: same");
        assert_eq!(lines[1], "file1: document 1 (line 1) failed: reason 1");
        let rest = ["file1: documents 19 to 20 (lines 19 to 20) failed too", "file1: document 22 (line 22) failed too"];
        assert_eq!(lines[19..], rest);
        let objects = failures.as_json();
        let first = json!({"file": "file0", "firstDocument": 7, "lastDocument": 8, "firstLine": 7, "lastLine": 8, "message": "same"});
        assert_eq!((&objects[0], objects.as_array().map(Vec::len)), (&first, Some(lines.len())));
        assert_eq!((&objects[20]["firstDocument"], &objects[20]["message"]), (&json!(22), &Value::Null));
    }
}
