//! Names of embedders and fragments in vector rules.

use lamina_index::index::settings::Settings;
use lamina_text::filter::{Located, Vectors, VectorsKind};
use lamina_text::text::TypoPattern;
use serde_json::Value;

use super::ConditionError;
use super::error::UnknownName;

/// Largest edit distance of a suggested name.
const SUGGESTION_DISTANCE: u8 = 2;

/// Refuses names that the settings don't know.
pub(super) fn check(vectors: &Vectors, settings: &Settings) -> Result<(), ConditionError> {
    let Some(embedder) = &vectors.embedder else { return Ok(()) };
    let Some(config) = settings.embedders.get(&embedder.value) else {
        let available = sorted(settings.embedders.keys());
        return Err(ConditionError::UnknownEmbedder(unknown(embedder, available)));
    };
    let Some(VectorsKind::Fragment(fragment)) = &vectors.kind else { return Ok(()) };
    let fragments = config.get("indexingFragments").and_then(Value::as_object);
    if fragments.is_some_and(|fragments| fragments.contains_key(&fragment.value)) {
        return Ok(());
    }
    let available = sorted(fragments.into_iter().flat_map(|fragments| fragments.keys()));
    Err(ConditionError::UnknownFragment { embedder: embedder.value.clone(), fragment: unknown(fragment, available) })
}

fn unknown(name: &Located<String>, available: Vec<String>) -> Box<UnknownName> {
    Box::new(UnknownName {
        suggestion: suggestion(&name.value, &available),
        name: name.value.clone(),
        available,
        at: name.at.clone(),
    })
}

fn sorted<'s>(names: impl Iterator<Item = &'s String>) -> Vec<String> {
    let mut names: Vec<String> = names.cloned().collect();
    names.sort_unstable();
    names
}

fn suggestion(name: &str, known: &[String]) -> Option<String> {
    let pattern = TypoPattern::new(name, false, SUGGESTION_DISTANCE);
    known.iter().find(|known| pattern.typos_of(known).is_some()).cloned()
}
