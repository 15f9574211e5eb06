//! The body of a change of a rule.

use lamina_base::error::{ApiResult, Code};
use lamina_base::timestamp;
use serde_json::Value;

use super::{Conditions, FilterCondition, Instant, Pin, QueryCondition, RuleAction, RulePatch, Selector, TimeWindow};
use crate::wire::identifier::{check_index_uid, decode_path_segment};
use crate::wire::json::{At, required};

const FIELDS: [&str; 5] = ["description", "precedence", "active", "conditions", "actions"];

/// The uid of a rule in a path, or the public reason of its refusal.
pub fn uid_in_path(segment: &str) -> Result<String, String> {
    let uid = decode_path_segment(segment);
    check_index_uid(&uid).map(|()| uid)
}

/// The body of PATCH `/dynamic-search-rules/{uid}`.
///
/// # Errors
/// The first problem in the order of the text.
pub fn patch(body: &Value) -> ApiResult<RulePatch> {
    let mut patch = RulePatch::default();
    At::root(body).fields(&FIELDS, |name, field| {
        match name {
            "description" => {
                let field = field.code(Code::InvalidDynamicSearchRuleDescription);
                patch.description = Some(field.optional(|field| field.string())?);
            }
            "precedence" => {
                let field = field.code(Code::InvalidDynamicSearchRulePriority);
                patch.precedence = Some(field.optional(|field| field.positive_integer())?);
            }
            "active" => {
                let field = field.code(Code::InvalidDynamicSearchRuleActive);
                patch.active = Some(field.optional(|field| field.boolean())?);
            }
            "conditions" => {
                let field = field.code(Code::InvalidDynamicSearchRuleConditions);
                patch.conditions = Some(field.optional(|field| conditions(&field))?);
            }
            _ => {
                let field = field.code(Code::InvalidDynamicSearchRuleActions);
                patch.actions = Some(field.optional(|field| field.list(|element| action(&element)))?);
            }
        }
        Ok(())
    })?;
    Ok(patch)
}

fn conditions(field: &At<'_>) -> ApiResult<Conditions> {
    let mut conditions = Conditions::default();
    field.fields(&["time", "query", "filter"], |name, field| {
        match name {
            "time" => conditions.time = field.optional(|field| time(&field))?,
            "query" => conditions.query = field.optional(|field| query(&field))?,
            _ => conditions.filter = field.optional(|field| filter(&field))?,
        }
        Ok(())
    })?;
    Ok(conditions)
}

/// The only object whose unknown fields are passed over.
fn time(field: &At<'_>) -> ApiResult<TimeWindow> {
    let mut window = TimeWindow::default();
    field.entries(|name, field| {
        match name {
            "start" => window.start = field.optional(|field| instant(&field))?,
            "end" => window.end = field.optional(|field| instant(&field))?,
            _ => {}
        }
        Ok(())
    })?;
    if let (Some(start), Some(end)) = (window.start, window.end)
        && start.0 > end.0
    {
        return Err(field.code(Code::BadRequest).invalid("`start` is after `end`"));
    }
    Ok(window)
}

fn instant(field: &At<'_>) -> ApiResult<Instant> {
    let text = field.string()?;
    timestamp::instant(&text).map(Instant).ok_or_else(|| {
        field.invalid(format!("`{text}` is not a date and time with a zone, as in `2024-02-29T12:00:00Z`."))
    })
}

fn query(field: &At<'_>) -> ApiResult<QueryCondition> {
    let mut condition = QueryCondition::default();
    field.fields(&["isEmpty", "words"], |name, field| {
        match name {
            "isEmpty" => condition.is_empty = field.optional(|field| field.boolean())?,
            _ => condition.words = field.optional(|field| field.string())?,
        }
        Ok(())
    })?;
    if condition.is_empty == Some(true) && condition.words.is_some() {
        let refused = field.code(Code::BadRequest);
        return Err(refused.invalid("either `isEmpty` or `words` can be used, not both at once"));
    }
    Ok(condition)
}

fn filter(field: &At<'_>) -> ApiResult<FilterCondition> {
    let mut condition = FilterCondition::default();
    field.fields(&["values"], |_, field| {
        condition.values = field.object()?.clone();
        Ok(())
    })?;
    Ok(condition)
}

fn action(element: &At<'_>) -> ApiResult<RuleAction> {
    let (mut selected, mut pinned) = (None, None);
    element.fields(&["selector", "action"], |name, field| {
        match name {
            "selector" => selected = Some(selector(&field)?),
            _ => pinned = Some(pin(&field)?),
        }
        Ok(())
    })?;
    let code = Code::InvalidDynamicSearchRuleActions;
    Ok(RuleAction {
        selector: required(selected, element, "selector", code)?,
        action: required(pinned, element, "action", code)?,
    })
}

fn selector(field: &At<'_>) -> ApiResult<Selector> {
    let (mut index_uid, mut id) = (None, None);
    field.fields(&["indexUid", "id"], |name, field| {
        match name {
            "indexUid" => index_uid = field.optional(|field| field.index_uid())?,
            _ => id = Some(field.string()?),
        }
        Ok(())
    })?;
    let id = required(id, field, "id", Code::InvalidDynamicSearchRuleActions)?;
    Ok(Selector { index_uid, id })
}

fn pin(field: &At<'_>) -> ApiResult<Pin> {
    let (mut kind, mut position) = (None, None);
    field.fields(&["type", "position"], |name, field| {
        match name {
            "type" if field.string()? != "pin" => {
                return Err(field.error(format!("Incorrect tag value at `{}`: expected `pin`", field.path())));
            }
            "type" => kind = Some(()),
            _ => {
                let number = field.positive_integer()?;
                let in_range = u32::try_from(number)
                    .map_err(|_| field.invalid(format!("`{number}` is too large: expected at most {}", u32::MAX)))?;
                position = Some(in_range);
            }
        }
        Ok(())
    })?;
    let code = Code::InvalidDynamicSearchRuleActions;
    required(kind, field, "type", code)?;
    Ok(Pin::Pin { position: required(position, field, "position", code)? })
}
