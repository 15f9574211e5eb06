//! The body of POST `/indexes/{uid}/fields`.

use lamina_base::error::{ApiResult, Code};
use lamina_engine::index::settings::AttributePattern;
use serde_json::Value;

use super::json::At;

/// The body of `POST /indexes/{indexUid}/fields`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldList {
    /// Fields to skip.
    pub offset: usize,
    /// Most fields to return.
    pub limit: usize,
    /// Conditions on the fields.
    pub filter: FieldFilter,
}

/// Conditions on a field; all must hold, `None` is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldFilter {
    /// One of these matches its name.
    pub patterns: Option<Vec<AttributePattern>>,
    /// Shown in hits.
    pub displayed: Option<bool>,
    /// Searched.
    pub searchable: Option<bool>,
    /// Allowed in `sort`.
    pub sortable: Option<bool>,
    /// The distinct attribute.
    pub distinct: Option<bool>,
    /// Has a custom ranking rule.
    pub ranking_rule: Option<bool>,
    /// Allowed in `filter`.
    pub filterable: Option<bool>,
}

impl FieldList {
    /// Reads a body.
    ///
    /// # Errors
    /// The first problem in the order of the text.
    pub fn from_body(body: &Value) -> ApiResult<FieldList> {
        let (mut offset, mut limit, mut filter) = (0, 20, FieldFilter::default());
        At::root(body).given(&["offset", "limit", "filter"], &[], |name, field| {
            match name {
                "offset" => offset = field.code(Code::InvalidIndexOffset).positive_integer()?,
                "limit" => limit = field.code(Code::InvalidIndexLimit).positive_integer()?,
                _ => {
                    let field = field.code(Code::InvalidIndexFieldsFilter);
                    filter = field.optional(FieldFilter::read)?.unwrap_or_default();
                }
            }
            Ok(())
        })?;
        let clamp = |number| usize::try_from(number).unwrap_or(usize::MAX);
        Ok(FieldList { offset: clamp(offset), limit: clamp(limit), filter })
    }
}

impl FieldFilter {
    fn read(at: At<'_>) -> ApiResult<FieldFilter> {
        const ACCEPTED: [&str; 7] =
            ["attributePatterns", "displayed", "searchable", "sortable", "distinct", "rankingRule", "filterable"];
        let mut filter = FieldFilter::default();
        at.fields(&ACCEPTED, |name, field| {
            let switch = |code| field.code(code).optional(|field| field.boolean());
            match name {
                "attributePatterns" => {
                    let field = field.code(Code::InvalidIndexFieldsFilterAttributePatterns);
                    let patterns = field.optional(|field| field.strings())?;
                    filter.patterns = patterns.map(|names| names.into_iter().map(AttributePattern::new).collect());
                }
                "displayed" => filter.displayed = switch(Code::InvalidIndexFieldsFilterDisplayed)?,
                "searchable" => filter.searchable = switch(Code::InvalidIndexFieldsFilterSearchable)?,
                "sortable" => filter.sortable = switch(Code::InvalidIndexFieldsFilterSortable)?,
                "distinct" => filter.distinct = switch(Code::InvalidIndexFieldsFilterDistinct)?,
                "rankingRule" => filter.ranking_rule = switch(Code::InvalidIndexFieldsFilterRankingRule)?,
                _ => filter.filterable = switch(Code::InvalidIndexFieldsFilterFilterable)?,
            }
            Ok(())
        })?;
        Ok(filter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn everything_is_optional() {
        let all = FieldList { offset: 0, limit: 20, filter: FieldFilter::default() };
        assert_eq!(FieldList::from_body(&json!({})), Ok(all.clone()));
        assert_eq!(FieldList::from_body(&json!({"filter": null})), Ok(all.clone()));
        assert_eq!(FieldList::from_body(&json!({"filter": {"displayed": null}})), Ok(all));
    }

    #[test]
    fn every_field_has_its_code() {
        let code = |body: Value| FieldList::from_body(&body).unwrap_err().code;
        assert_eq!(code(json!({"offset": -1})), Code::InvalidIndexOffset);
        assert_eq!(code(json!({"limit": "x"})), Code::InvalidIndexLimit);
        assert_eq!(code(json!({"filter": []})), Code::InvalidIndexFieldsFilter);
        assert_eq!(code(json!({"filter": {"colour": true}})), Code::InvalidIndexFieldsFilter);
        assert_eq!(code(json!({"other": 1})), Code::BadRequest);
        for (name, expected) in [
            ("attributePatterns", Code::InvalidIndexFieldsFilterAttributePatterns),
            ("displayed", Code::InvalidIndexFieldsFilterDisplayed),
            ("searchable", Code::InvalidIndexFieldsFilterSearchable),
            ("sortable", Code::InvalidIndexFieldsFilterSortable),
            ("distinct", Code::InvalidIndexFieldsFilterDistinct),
            ("rankingRule", Code::InvalidIndexFieldsFilterRankingRule),
            ("filterable", Code::InvalidIndexFieldsFilterFilterable),
        ] {
            assert_eq!(code(json!({"filter": {name: 3}})), expected);
        }
    }
}
