//! `embedders`: configurations by name, merged field by field.

use lamina_base::error::{ApiResult, Code};
use lamina_base::options::Feature;
use lamina_engine::index::settings::SettingId;
use serde_json::Value;

use super::figures::{Figure, each, total};
use super::kind::{IsOn, SettingKind, plain};
use super::secrets::redacted_entries;
use super::shape::Shape;
use super::{bounds, embedder, shown_entries};
use crate::wire::schema;

pub(super) const EMBEDDERS: SettingKind = SettingKind {
    shown: |written| shown_entries(written, embedder::show),
    in_task: redacted_entries,
    check_features,
    portable,
    check_merged: |patch, before, after| {
        if patch.embedders.as_set().is_none() {
            return Ok(());
        }
        bounds::check_merged(
            "embedders",
            after.embedders.len(),
            bounds::EMBEDDERS_MAX,
            Code::InvalidSettingsEmbedders,
        )?;
        embedder::check_merged(&before.embedders, &after.embedders)
    },
    ..plain(
        SettingId::Embedders,
        ["embedders", "embedders"],
        Code::InvalidSettingsEmbedders,
        Shape::Entries(&Shape::Own(embedder::read, || schema::named("Embedder")), bounds::EMBEDDERS),
        &[
            ("embedders.total", total),
            ("embedders.sources", |embedders| each(embedders, source)),
            ("embedders.document_template_used", |embedders| {
                each(embedders, |one| Some(Figure::Any(one["documentTemplate"].is_string())))
            }),
            ("embedders.binary_quantization_used", |embedders| {
                each(embedders, |one| Some(Figure::Any(one["binaryQuantized"] == true)))
            }),
            ("embedders.document_template_max_bytes", |embedders| {
                let bytes = |one: &Value| usize::try_from(one["documentTemplateMaxBytes"].as_u64()?).ok();
                each(embedders, |one| bytes(one).map(Figure::Max))
            }),
        ],
        [
            "by name, the embedders that turn texts into vectors, see [semantic search](embedders.md)",
            "object of objects",
            r#"{"own": {"source": "userProvided", "dimensions": 3}}"#,
        ],
    )
};

/// Returns the source if it is one of the closed list. Anything else there is a text of the request.
fn source(configuration: &Value) -> Option<Figure> {
    embedder::SOURCE_NAMES.into_iter().find(|source| configuration["source"] == *source).map(Figure::Word)
}

/// Without `chunks`, which another server refuses.
fn portable(mut embedders: Value) -> Value {
    for embedder in embedders.as_object_mut().into_iter().flatten().filter_map(|(_, one)| one.as_object_mut()) {
        embedder.shift_remove("chunks");
        if let Some(Value::Object(indexing)) = embedder.get_mut("indexingEmbedder") {
            indexing.shift_remove("chunks");
        }
    }
    embedders
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::portable;

    #[test]
    fn other_servers_get_no_chunks() {
        let embedders = json!({"a": {"source": "rest", "chunks": {"by": "word"}}, "b": {"indexingEmbedder": {"chunks": {}}}, "c": null});
        let expected = json!({"a": {"source": "rest"}, "b": {"indexingEmbedder": {}}, "c": null});
        assert_eq!(portable(embedders), expected);
    }
}
