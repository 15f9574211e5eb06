//! One rule of `localizedAttributes`.

use lamina_engine::index::settings::{AttributePattern, LocalizedAttributes};

use crate::error::ApiResult;
use crate::wire::json::At;

pub(super) fn read(at: At<'_>) -> ApiResult<LocalizedAttributes> {
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
