//! `completions`: what completions of queries come from, beside the words of the index.

use lamina_base::error::{ApiResult, Code};
use lamina_engine::index::settings::{Completions, CompletionsPatch, SettingId};
use serde_json::{Value, json};

use super::kind::{Presence, Reference, SettingKind, WriteVerb};
use super::values::{parts, sent, setting};
use crate::wire::json::At;
use crate::wire::schema::{exactly, flag, or_null};

/// The largest `minCount`.
const COUNT_MAX: u32 = 1_000_000;

pub(super) const COMPLETIONS: SettingKind = SettingKind {
    id: SettingId::Completions,
    key: "completions",
    route: "completions",
    verb: WriteVerb::Patch,
    presence: Presence::WhenSet,
    code: Code::InvalidSettingsCompletions,
    read: |at, patch| {
        patch.completions = setting(at, read)?;
        Ok(())
    },
    written: |settings| {
        let Completions { from_queries, min_count } = settings.completions;
        match settings.completions == Completions::default() {
            true => Value::Null,
            false => json!({ "fromQueries": from_queries, "minCount": min_count }),
        }
    },
    // Clients of the protocol do not know it, so a reset of all settings does not show it.
    sent: |patch| {
        let written = |patch: &CompletionsPatch| {
            parts([
                ("fromQueries", sent(&patch.from_queries, |is_on| json!(is_on))),
                ("minCount", sent(&patch.min_count, |count| json!(count))),
            ])
        };
        patch.completions.as_set().map(written)
    },
    schema: || {
        let count = json!({ "type": ["integer", "null"], "minimum": 1, "maximum": COUNT_MAX });
        exactly([("fromQueries", or_null(flag())), ("minCount", count)], &[])
    },
    reference: Reference {
        purpose: "whether earlier queries are suggested as completions (`fromQueries`, false), and how often they \
                  must have been sent (`minCount`, 3), see [relevance](relevance.md#suggestions)",
        value: "object: `fromQueries`, `minCount` (1 to 1,000,000)",
        example: r#"{"fromQueries": true, "minCount": 10}"#,
    },
    ..SettingKind::PLAIN
};

fn read(at: At<'_>) -> ApiResult<CompletionsPatch> {
    let mut patch = CompletionsPatch::default();
    at.fields(&["fromQueries", "minCount"], |name, field| {
        match name {
            "fromQueries" => patch.from_queries = setting(field, |field| field.boolean())?,
            _ => patch.min_count = setting(field, |field| count(&field))?,
        }
        Ok(())
    })?;
    Ok(patch)
}

fn count(at: &At<'_>) -> ApiResult<u32> {
    let number = at.positive_integer()?;
    let count = u32::try_from(number).ok().filter(|count| (1..=COUNT_MAX).contains(count));
    count.ok_or_else(|| at.invalid(format!("expected a number from 1 to {COUNT_MAX}, but found {number}")))
}

#[cfg(test)]
mod tests {
    use lamina_engine::index::Settings;

    use super::*;
    use crate::wire::settings;

    #[test]
    fn switches_and_counts_are_checked() {
        for (wrong, place) in [
            (json!({"fromQueries": 1}), ".completions.fromQueries"),
            (json!({"minCount": 0}), ".completions.minCount"),
            (json!({"minCount": 1_000_001}), ".completions.minCount"),
            (json!({"minCount": "3"}), ".completions.minCount"),
            (json!(true), ".completions"),
        ] {
            let error = settings::read(&json!({ "completions": wrong })).unwrap_err();
            assert_eq!(error.code, Code::InvalidSettingsCompletions);
            assert!(error.message.contains(place), "{}", error.message);
        }
        let patch = settings::read(&json!({"completions": {"fromQueries": true}})).unwrap();
        let stored = settings::merged(&Settings::default(), &patch).unwrap();
        let shown = json!({"fromQueries": true, "minCount": 3});
        assert_eq!(settings::show(&stored, &|_| true)["completions"], shown);
        assert_eq!(settings::show(&Settings::default(), &|_| true).get("completions"), None);
    }
}
