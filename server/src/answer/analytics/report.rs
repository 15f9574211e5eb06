//! Answers from sums: objects and lines.

use std::cmp::Reverse;
use std::collections::HashSet;

use lamina_base::budget::AnswerBudget;
use lamina_base::error::ApiResult;
use lamina_engine::index::Snapshot;
use lamina_protocol::wire::analytics::{AnalyticsQuery, ListKind, shown_time};
use serde_json::{Map, Value, json};

use super::{Tally, totals};

/// The figures of an index, with a series if the query asks for one. `filter` selects its documents.
///
/// # Errors
/// More time or memory than one answer may take.
pub(crate) fn figures(
    snapshot: Option<&Snapshot>,
    filter: &str,
    query: &AnalyticsQuery,
    budget: &AnswerBudget,
) -> ApiResult<Map<String, Value>> {
    let totals = match snapshot {
        Some(snapshot) => totals(snapshot, filter, query, None, budget)?,
        None => super::Totals::default(),
    };
    let mut shown = Map::new();
    shown.insert("start".into(), json!(shown_time(query.start)));
    shown.insert("end".into(), json!(shown_time(query.end)));
    shown.append(&mut of_time(&totals.all, &totals.users));
    shown.insert("unmatchedEvents".into(), totals.unmatched.into());
    if let Some(step) = query.step {
        let empty = Default::default();
        let steps = (query.start / step..query.end.div_ceil(step)).map(|place| {
            let (tally, users) = totals.steps.get(&place).unwrap_or(&empty);
            let mut row = Map::from_iter([("at".to_owned(), json!(shown_time(place * step)))]);
            row.append(&mut of_time(tally, users));
            Value::Object(row)
        });
        shown.insert("series".into(), steps.collect());
    }
    Ok(shown)
}

/// A list of queries or filters: the rows that are asked for, and how many there are.
///
/// # Errors
/// Same as [`figures`].
pub(crate) fn list(
    snapshot: Option<&Snapshot>,
    filter: &str,
    query: &AnalyticsQuery,
    kind: ListKind,
    budget: &AnswerBudget,
) -> ApiResult<(Vec<Map<String, Value>>, usize)> {
    let Some(snapshot) = snapshot else { return Ok((Vec::new(), 0)) };
    let totals = totals(snapshot, filter, query, Some(kind), budget)?;
    let groups = totals.groups.into_values().map(|(text, tally)| (rank(kind, &tally), text, tally));
    let mut groups: Vec<(u64, String, Tally)> = groups.filter(|(rank, ..)| *rank > 0).collect();
    groups.sort_by(|(one, text, _), (other, other_text, _)| (Reverse(one), text).cmp(&(Reverse(other), other_text)));
    let total = groups.len();
    let rows = groups.into_iter().skip(query.offset).take(query.limit);
    let row = |(_, text, tally): (u64, String, Tally)| {
        let name = if kind == ListKind::Filters { "filter" } else { "query" };
        let mut row = Map::from_iter([(name.to_owned(), Value::from(text))]);
        if kind == ListKind::Rising {
            row.insert("searchesBefore".to_owned(), tally.searches_before.into());
        }
        row.append(&mut of_searches(&tally));
        row
    };
    Ok((rows.map(row).collect(), total))
}

/// Returns the number that a list is ordered by, descending; a row with 0 is not in it.
fn rank(kind: ListKind, tally: &Tally) -> u64 {
    match kind {
        ListKind::Queries | ListKind::Filters => tally.searches,
        ListKind::Rising => tally.searches.saturating_sub(tally.searches_before),
        ListKind::WithoutHits => tally.without_hits,
        ListKind::WithoutClicks => tally.without_clicks,
        // Microseconds, so that none of those that were searched is 0.
        ListKind::Slow if tally.searches > 0 => (tally.millis_sum * 1000).div_ceil(tally.searches).max(1),
        ListKind::Slow => 0,
    }
}

/// The figures of a time, in which events count when they came.
fn of_time(tally: &Tally, users: &HashSet<u128>) -> Map<String, Value> {
    let mut shown = of_searches(tally);
    shown.insert("users".into(), users.len().into());
    shown
}

fn of_searches(tally: &Tally) -> Map<String, Value> {
    let Tally { searches, without_hits, without_clicks, clicked, converted, acts, millis_sum, millis_max, .. } = *tally;
    let figures = [
        ("searches", searches.into()),
        ("noHitRate", share(without_hits, searches)),
        ("noClickRate", share(without_clicks, searches - without_hits)),
        ("clickThroughRate", share(clicked, searches)),
        ("conversionRate", share(converted, searches)),
        ("clicks", acts.clicks.into()),
        ("meanClickPosition", share(acts.position_sum, acts.positioned)),
        ("conversions", acts.conversions.into()),
        ("views", acts.views.into()),
        ("meanMs", share(millis_sum, searches)),
        ("maxMs", millis_max.into()),
    ];
    figures.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A ratio with four digits; null of nothing.
fn share(part: u64, whole: u64) -> Value {
    if whole == 0 { Value::Null } else { json!((part as f64 / whole as f64 * 1e4).round() / 1e4) }
}

/// Objects of the same fields as lines of CSV, with the names first. A text that a spreadsheet would take for a formula gets an
/// apostrophe in front.
pub(crate) fn csv(rows: &[Map<String, Value>]) -> String {
    let mut text = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = String>| {
        text.push_str(&cells.collect::<Vec<_>>().join(","));
        text.push_str("\r\n");
    };
    if let Some(first) = rows.first() {
        line(&mut first.keys().cloned());
    }
    for row in rows {
        line(&mut row.values().map(cell));
    }
    text
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => {
            let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
            if guard.is_empty() && !text.contains([',', '"', '\n', '\r']) {
                return text.clone();
            }
            format!("\"{guard}{}\"", text.replace('"', "\"\""))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_nothing_are_null() {
        let shown = of_searches(&Tally::default());
        for name in ["noHitRate", "noClickRate", "clickThroughRate", "meanClickPosition", "meanMs"] {
            assert_eq!(shown[name], Value::Null, "{name}");
        }
        let tally = Tally { searches: 3, without_hits: 1, without_clicks: 1, clicked: 1, ..Tally::default() };
        let shown = of_searches(&tally);
        assert_eq!((&shown["noHitRate"], &shown["noClickRate"]), (&json!(0.3333), &json!(0.5)));
    }

    #[test]
    fn lines_quote_what_would_break_them() {
        let row = |text: &str| Map::from_iter([("query".to_owned(), json!(text)), ("searches".to_owned(), json!(2))]);
        let rows = ["alien", "a, \"b\"", "=1+1", "-x"].map(row);
        let expected = "query,searches\r\nalien,2\r\n\"a, \"\"b\"\"\",2\r\n\"'=1+1\",2\r\n\"'-x\",2\r\n";
        assert_eq!(csv(&rows), expected);
        assert_eq!(csv(&[]), "");
    }
}
