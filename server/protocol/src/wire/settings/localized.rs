//! `localizedAttributes`: the languages of fields.

use lamina_base::error::{ApiResult, Code};
use lamina_engine::index::settings::{AttributePattern, LocalizedAttributes, SettingId};
use serde_json::{Value, json};

use super::bounds;
use super::kind::{Reference, SettingKind};
use super::values::{sent, setting};
use crate::wire::json::At;
use crate::wire::schema::{exactly, list, named, texts};

pub(super) const LOCALIZED_ATTRIBUTES: SettingKind = SettingKind {
    id: SettingId::LocalizedAttributes,
    key: "localizedAttributes",
    route: "localized-attributes",
    code: Code::InvalidSettingsLocalizedAttributes,
    bounds: bounds::localized_attributes,
    read: |at, patch| {
        patch.localized_attributes = setting(at, |at| at.list(read))?;
        Ok(())
    },
    written: |settings| settings.localized_attributes.as_deref().map(write_all).into(),
    sent: |patch| sent(&patch.localized_attributes, |rules| write_all(rules)),
    schema: || {
        let fields = [("attributePatterns", texts()), ("locales", list(named("Locale")))];
        list(exactly(fields, &["attributePatterns", "locales"]))
    },
    reference: Reference {
        purpose: "languages of attributes; the first rule that matches applies. Without one, the language is detected",
        value: "array of objects: `attributePatterns`, `locales`",
        example: r#"[{"attributePatterns": ["*_ja"], "locales": ["jpn"]}]"#,
    },
    ..SettingKind::PLAIN
};

fn write_all(rules: &[LocalizedAttributes]) -> Value {
    let write = |rule: &LocalizedAttributes| {
        let patterns: Vec<&str> = rule.attribute_patterns.iter().map(AttributePattern::as_str).collect();
        json!({ "attributePatterns": patterns, "locales": rule.locales })
    };
    rules.iter().map(write).collect()
}

fn read(at: At<'_>) -> ApiResult<LocalizedAttributes> {
    let (mut attribute_patterns, mut locales) = (None, None);
    at.fields(&["attributePatterns", "locales"], |name, field| {
        match name {
            "attributePatterns" => {
                attribute_patterns = Some(field.list(|pattern| Ok(AttributePattern::new(pattern.string()?)))?);
            }
            _ => locales = Some(field.list(read_locale)?),
        }
        Ok(())
    })?;
    Ok(LocalizedAttributes {
        attribute_patterns: attribute_patterns.ok_or_else(|| at.missing_field("attributePatterns"))?,
        locales: locales.ok_or_else(|| at.missing_field("locales"))?,
    })
}

/// A language code of two or three letters, in its three-letter form.
fn read_locale(at: At<'_>) -> ApiResult<String> {
    at.language().map(|language| language.code().to_owned())
}
