//! What was measured, as a table or as JSON.

use std::fmt;

use lamina_base::plural::counted;
use serde_json::{Value, json};

use super::asking::Answer;
use super::judgement::Judgement;
use super::measure::Measures;
use super::statistics::{Comparison, Interval, NOISE, compare, interval, mean};

/// The answers of one way of searching.
pub(super) struct Measured {
    pub(super) name: String,
    pub(super) answers: Vec<Answer>,
}

/// Parameters of a report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) depth: u16,
    pub(super) confidence: f64,
    /// Questions of a comparison that are listed.
    pub(super) changes: usize,
}

/// One of the measures of a question.
type Measure = fn(&Measures) -> f64;

const MEASURES: [(&str, Measure); 4] = [
    ("ndcg", |measures| measures.ndcg),
    ("mrr", |measures| measures.mrr),
    ("recall", |measures| measures.recall),
    ("precision", |measures| measures.precision),
];

impl Measured {
    pub(super) fn ndcgs(&self) -> Vec<f64> {
        self.values(|measures| measures.ndcg)
    }

    fn values(&self, measure: Measure) -> Vec<f64> {
        self.answers.iter().map(|answer| measure(&answer.measures)).collect()
    }

    pub(super) fn ndcg(&self) -> f64 {
        mean(&self.values(|measures| measures.ndcg))
    }

    pub(super) fn mrr(&self) -> f64 {
        mean(&self.values(|measures| measures.mrr))
    }

    /// Questions without any relevant hit.
    fn unanswered(&self) -> usize {
        self.answers.iter().filter(|answer| answer.measures.mrr == 0.0).count()
    }
}

/// The nDCG of a question in both ways.
pub(super) struct Change<'a> {
    pub(super) judgement: &'a Judgement,
    pub(super) before: f64,
    pub(super) after: f64,
}

impl fmt::Display for Change<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Change { judgement, before, after } = self;
        write!(f, "{:+.4}  {before:.4} to {after:.4}  {}", after - before, judgement.q)
    }
}

/// The questions that changed, those that changed most first.
pub(super) fn changes<'a>(judgements: &'a [Judgement], before: &Measured, after: &Measured) -> Vec<Change<'a>> {
    let both = before.answers.iter().zip(&after.answers);
    let each = judgements.iter().zip(both).map(|(judgement, (before, after))| Change {
        judgement,
        before: before.measures.ndcg,
        after: after.measures.ndcg,
    });
    let mut changed: Vec<Change<'_>> = each.filter(|change| (change.after - change.before).abs() > NOISE).collect();
    let size = |change: &Change<'_>| (change.after - change.before).abs();
    changed.sort_by(|one, other| size(other).total_cmp(&size(one)));
    changed
}

/// The difference of nDCG between the first way and another.
fn compared(before: &Measured, after: &Measured, form: Form) -> Comparison {
    compare(&before.values(|measures| measures.ndcg), &after.values(|measures| measures.ndcg), form.confidence)
}

/// The lines of the table, and of what differs from the first way.
pub(super) fn table(judgements: &[Judgement], measured: &[Measured], form: Form) -> String {
    let width = measured.iter().map(|way| way.name.chars().count()).max().unwrap_or(0).max(6);
    let depth = form.depth;
    let mut lines = vec![format!("{}, {} each", counted(judgements.len(), "query"), counted(depth, "hit"))];
    lines.push(format!(
        "{:width$}  {:>7}  {:>15}  {:>7}  {:>9}  {:>7}  {:>10}",
        "search",
        format!("nDCG@{depth}"),
        format!("{} %", form.confidence * 100.0),
        "MRR",
        format!("recall@{depth}"),
        format!("P@{depth}"),
        "unanswered"
    ));
    for way in measured {
        let Interval { low, high } = interval(&way.values(|measures| measures.ndcg), form.confidence);
        let [ndcg, mrr, recall, precision] = MEASURES.map(|(_, measure)| mean(&way.values(measure)));
        lines.push(format!(
            "{:width$}  {ndcg:>7.4}  {:>15}  {mrr:>7.4}  {recall:>9.4}  {precision:>7.4}  {:>10}",
            way.name,
            format!("{low:.4}-{high:.4}"),
            way.unanswered()
        ));
    }
    let Some((first, others)) = measured.split_first() else { return lines.join("\n") };
    for way in others {
        let found = compared(first, way, form);
        lines.push(String::new());
        lines.push(format!(
            "{} against {}: nDCG {:+.4} ({:+.4} to {:+.4}), p = {:.4}, {} better, {} worse, {} the same",
            way.name,
            first.name,
            found.difference,
            found.interval.low,
            found.interval.high,
            found.p,
            found.better,
            found.worse,
            judgements.len() - found.better - found.worse
        ));
        let changed = changes(judgements, first, way);
        lines.extend(changed.iter().take(form.changes).map(|change| format!("  {change}")));
    }
    lines.join("\n")
}

/// All figures, and every question that changed.
pub(super) fn as_json(judgements: &[Judgement], measured: &[Measured], form: Form) -> Value {
    let way = |way: &Measured| {
        let mut shown = json!({ "name": way.name, "unanswered": way.unanswered() });
        for (name, measure) in MEASURES {
            let values = way.values(measure);
            let Interval { low, high } = interval(&values, form.confidence);
            shown[name] = json!({ "mean": mean(&values), "low": low, "high": high });
        }
        shown
    };
    let comparison = |(first, way): (&Measured, &Measured)| {
        let found = compared(first, way, form);
        let changed = changes(judgements, first, way).into_iter().map(|change| {
            let Change { judgement, before, after } = change;
            json!({ "id": judgement.id, "q": judgement.q, "before": before, "after": after })
        });
        json!({
            "baseline": first.name,
            "name": way.name,
            "difference": found.difference,
            "low": found.interval.low,
            "high": found.interval.high,
            "p": found.p,
            "better": found.better,
            "worse": found.worse,
            "changed": changed.collect::<Vec<Value>>(),
        })
    };
    let others = measured.iter().skip(1).filter_map(|way| Some((measured.first()?, way)));
    json!({
        "queries": judgements.len(),
        "depth": form.depth,
        "confidence": form.confidence,
        "searches": measured.iter().map(way).collect::<Vec<Value>>(),
        "comparisons": others.map(comparison).collect::<Vec<Value>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(name: &str, ndcg: &[f64]) -> Measured {
        let answer = |ndcg: &f64| Answer {
            measures: Measures { ndcg: *ndcg, mrr: *ndcg, recall: 1.0, precision: 0.1 },
            hits: Vec::new(),
        };
        Measured { name: name.into(), answers: ndcg.iter().map(answer).collect() }
    }

    fn judgements(count: usize) -> Vec<Judgement> {
        let one = |n: usize| Judgement {
            id: n.to_string(),
            q: format!("question {n}"),
            relevant: Default::default(),
            unjudged: 0.0,
            search: Default::default(),
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn a_comparison_lists_what_changed_most() {
        let form = Form { depth: 10, confidence: 0.95, changes: 1 };
        let ways = [measured("before", &[0.5, 0.5, 0.0]), measured("after", &[0.6, 0.0, 0.0])];
        let table = table(&judgements(3), &ways, form);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[0], "3 queries, 10 hits each");
        assert!(
            lines[2].starts_with("before   0.3333    0.0000-0.5000   0.3333     1.0000   0.1000           1"),
            "{table}"
        );
        assert!(lines[5].starts_with("after against before: nDCG -0.1333 ("));
        assert!(lines[5].ends_with("1 better, 1 worse, 1 the same"));
        assert_eq!(lines[6..], ["  -0.5000  0.5000 to 0.0000  question 1"]);
        let json = as_json(&judgements(3), &ways, form);
        assert_eq!(json["comparisons"][0]["changed"].as_array().map(Vec::len), Some(2));
        assert_eq!(json["searches"][1]["ndcg"]["mean"], json!(0.6 / 3.0));
        assert_eq!(json["comparisons"][0]["changed"][0]["id"], "1");
    }
}
