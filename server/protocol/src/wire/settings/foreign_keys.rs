//! `foreignKeys`: fields that hold ids of documents of other indexes, behind an experimental feature.

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::options::Feature;
use lamina_engine::index::settings::{ForeignKey, SettingId};
use serde_json::{Value, json};

use super::bounds;
use super::kind::{Presence, Reference, SettingKind};
use super::values::{sent, setting};
use crate::wire::json::At;
use crate::wire::schema::{self, exactly};

pub(super) const FOREIGN_KEYS: SettingKind = SettingKind {
    id: SettingId::ForeignKeys,
    key: "foreignKeys",
    route: "foreign-keys",
    presence: Presence::WithFeature(Feature::ForeignKeys),
    code: Code::InvalidSettingsForeignKeys,
    bounds: bounds::foreign_keys,
    read: |at, patch| {
        patch.foreign_keys = setting(at, |at| at.list(read))?;
        Ok(())
    },
    written: |settings| write_all(&settings.foreign_keys),
    sent: |patch| sent(&patch.foreign_keys, |keys| write_all(keys)),
    check_features: |value, is_on| {
        if is_on(Feature::ForeignKeys) || value.is_null() {
            return Ok(());
        }
        Err(ApiError::feature_not_enabled("setting `foreignKeys` in the index settings", "foreign_keys"))
    },
    schema: || {
        let fields = [("foreignIndexUid", schema::index_uid()), ("fieldName", schema::text())];
        schema::list(exactly(fields, &["foreignIndexUid", "fieldName"]))
    },
    reference: Reference {
        purpose: "fields that hold ids of documents in other indexes; needs the experimental feature `foreignKeys`",
        value: "array of objects: `foreignIndexUid`, `fieldName`",
        example: r#"[{"foreignIndexUid": "authors", "fieldName": "author"}]"#,
    },
    ..SettingKind::PLAIN
};

fn write_all(keys: &[ForeignKey]) -> Value {
    let write = |key: &ForeignKey| json!({ "foreignIndexUid": key.foreign_index_uid, "fieldName": key.field_name });
    keys.iter().map(write).collect()
}

fn read(at: At<'_>) -> ApiResult<ForeignKey> {
    let (mut foreign_index_uid, mut field_name) = (None, None);
    at.fields(&["foreignIndexUid", "fieldName"], |name, field| {
        match name {
            "foreignIndexUid" => foreign_index_uid = Some(field.index_uid()?),
            _ => field_name = Some(field.string()?),
        }
        Ok(())
    })?;
    Ok(ForeignKey {
        foreign_index_uid: foreign_index_uid.ok_or_else(|| at.missing_field("foreignIndexUid"))?,
        field_name: field_name.ok_or_else(|| at.missing_field("fieldName"))?,
    })
}
