//! `synonyms`: for a word or phrase, the words and phrases that match, too.

use lamina_base::error::Code;
use lamina_engine::index::settings::SettingId;
use serde_json::json;

use super::bounds;
use super::kind::{Figure, Reference, SettingKind};
use super::values::{map, sent, setting};
use crate::wire::schema;

pub(super) const SYNONYMS: SettingKind = SettingKind {
    id: SettingId::Synonyms,
    key: "synonyms",
    route: "synonyms",
    code: Code::InvalidSettingsSynonyms,
    bounds: bounds::synonyms,
    read: |at, patch| {
        patch.synonyms = setting(at, |at| map(at, |values| values.strings()))?;
        Ok(())
    },
    written: |settings| json!(settings.synonyms),
    sent: |patch| sent(&patch.synonyms, |synonyms| json!(synonyms)),
    schema: || schema::map_of(schema::texts()),
    figures: |patch| {
        let total = patch.synonyms.as_set().map(|synonyms| ("synonyms.total", Figure::Max(synonyms.len())));
        total.into_iter().collect()
    },
    reference: Reference {
        purpose: "for a word or phrase, the words and phrases that match, too",
        value: "object of arrays of strings",
        example: r#"{"film": ["movie", "motion picture"]}"#,
    },
    ..SettingKind::PLAIN
};
