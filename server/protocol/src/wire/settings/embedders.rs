//! `embedders`: configurations by name, merged field by field.

use lamina_base::error::{ApiResult, Code};
use lamina_base::options::Feature;
use lamina_engine::index::settings::SettingId;
use lamina_engine::index::{Setting, SettingsPatch};
use serde_json::{Map, Value};

use super::kind::{Figure, Figures, IsOn, Reference, SettingKind, WriteVerb};
use super::secrets::redact;
use super::values::{map, sent, setting};
use super::{bounds, embedder};
use crate::wire::schema;

pub(super) const EMBEDDERS: SettingKind = SettingKind {
    id: SettingId::Embedders,
    key: "embedders",
    route: "embedders",
    verb: WriteVerb::Patch,
    code: Code::InvalidSettingsEmbedders,
    bounds: bounds::embedders,
    read: |at, patch| {
        patch.embedders = setting(at, |at| map(at, |one| setting(one, embedder::read)))?;
        Ok(())
    },
    written: |settings| Value::Object(settings.embedders.clone()),
    shown: |written| match written {
        Value::Object(embedders) => {
            embedders.into_iter().map(|(name, one)| (name, embedder::show(&one))).collect::<Map<_, _>>().into()
        }
        other => other,
    },
    sent: |patch| {
        sent(&patch.embedders, |changes| {
            changes.iter().map(|(name, change)| (name.clone(), sent_one(change))).collect::<Map<_, _>>().into()
        })
    },
    check_features,
    check_merged: |patch, before, after| {
        if patch.embedders.as_set().is_none() {
            return Ok(());
        }
        bounds::merged_embedders(after)?;
        embedder::check_merged(&before.embedders, &after.embedders)
    },
    schema: || schema::map_of(schema::or_null(schema::named("Embedder"))),
    figures,
    reference: Reference {
        purpose: "by name, the embedders that turn texts into vectors, see [semantic search](semantic-search.md)",
        value: "object of objects",
        example: r#"{"own": {"source": "userProvided", "dimensions": 3}}"#,
    },
    ..SettingKind::PLAIN
};

fn sent_one(change: &Setting<Value>) -> Value {
    let redacted = |configuration: &Value| {
        let mut shown = configuration.clone();
        redact(&mut shown);
        shown
    };
    sent(change, redacted).unwrap_or_default()
}

fn check_features(value: &Value, is_on: IsOn<'_>) -> ApiResult<()> {
    let embedders = || value.as_object().into_iter().flat_map(|embedders| embedders.values());
    if !is_on(Feature::CompositeEmbedders) {
        embedders().try_for_each(embedder::check_composite)?;
    }
    if !is_on(Feature::Multimodal) {
        embedders().try_for_each(embedder::check_multimodal)?;
    }
    Ok(())
}

fn figures(patch: &SettingsPatch) -> Figures {
    let Setting::Set(changes) = &patch.embedders else { return Figures::new() };
    let mut figures = vec![("embedders.total", Figure::Max(changes.len()))];
    for change in changes.values() {
        let field = |name: &str| change.as_set().and_then(|configuration| configuration.get(name));
        // Only these words: whatever else stands there is a text of the request.
        let source = embedder::sources().into_iter().find(|source| field("source").is_some_and(|sent| sent == source));
        figures.extend(source.map(|source| ("embedders.sources", Figure::Word(source))));
        let has_template = field("documentTemplate").is_some_and(Value::is_string);
        figures.push(("embedders.document_template_used", Figure::Any(has_template)));
        let is_binary = field("binaryQuantized").and_then(Value::as_bool) == Some(true);
        figures.push(("embedders.binary_quantization_used", Figure::Any(is_binary)));
        if let Some(bytes) = field("documentTemplateMaxBytes").and_then(Value::as_u64) {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            figures.push(("embedders.document_template_max_bytes", Figure::Max(bytes)));
        }
    }
    figures
}
