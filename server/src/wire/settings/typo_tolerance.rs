//! `typoTolerance`: merged field by field, so each field is left alone, reset or set.

use lamina_engine::index::Setting;
use lamina_engine::index::settings::{MinWordSizeForTyposPatch, TypoTolerancePatch};

use super::{setting, string_set};
use crate::error::ApiResult;
use crate::wire::json::At;

const FIELDS: [&str; 5] =
    ["enabled", "minWordSizeForTypos", "disableOnWords", "disableOnAttributes", "disableOnNumbers"];

pub(super) fn read(at: At<'_>) -> ApiResult<TypoTolerancePatch> {
    let mut patch = TypoTolerancePatch::default();
    at.fields(&FIELDS, |name, field| {
        match name {
            "enabled" => patch.enabled = setting(field, |field| field.boolean())?,
            "minWordSizeForTypos" => patch.min_word_size_for_typos = setting(field, sizes)?,
            "disableOnWords" => patch.disable_on_words = setting(field, string_set)?,
            "disableOnAttributes" => patch.disable_on_attributes = setting(field, string_set)?,
            _ => patch.disable_on_numbers = setting(field, |field| field.boolean())?,
        }
        Ok(())
    })?;
    Ok(patch)
}

fn sizes(at: At<'_>) -> ApiResult<MinWordSizeForTyposPatch> {
    let mut patch = MinWordSizeForTyposPatch::default();
    at.fields(&["oneTypo", "twoTypos"], |name, field| {
        let size = setting(field, |field| field.byte())?;
        match name {
            "oneTypo" => patch.one_typo = size,
            _ => patch.two_typos = size,
        }
        Ok(())
    })?;
    match (patch.one_typo, patch.two_typos) {
        (Setting::Set(one), Setting::Set(two)) if one > two => Err(at.invalid(inverted_sizes(one, two))),
        _ => Ok(patch),
    }
}

/// Why these two sizes can't be together.
pub(super) fn inverted_sizes(one: u8, two: u8) -> String {
    format!(
        "`minWordSizeForTypos` setting is invalid. `oneTypo` and `twoTypos` fields should be between `0` and `255`, \
         and `twoTypos` should be greater or equals to `oneTypo` but found `oneTypo: {one}` and twoTypos: {two}`."
    )
}
