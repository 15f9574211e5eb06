//! `expiryAttribute`: the field that says when a document expires.

use super::SettingsError;
use super::definition::{Definition, Effect};

/// The attribute that says when a document expires.
#[derive(Debug)]
pub struct ExpiryAttribute;

impl Definition for ExpiryAttribute {
    const NAME: &'static str = "expiryAttribute";
    const EFFECT: Effect = Effect::Columns;
    type Value = Option<String>;
    type Patch = String;

    fn default_value() -> Option<String> {
        None
    }

    fn applied(_: &Option<String>, sent: &String) -> Result<Option<String>, SettingsError> {
        Ok(Some(sent.clone()))
    }
}
