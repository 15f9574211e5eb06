//! `explanations`: the explanation of each query of a merged list.

use serde_json::{Value, json};

use super::super::explanation::{HIT, NOT_DISTINCT, OUTSIDE, of_search, on_page};
use super::Ran;
use super::merge::{Merged, Place};

/// Field of `_federation` that names to another server the queries that ask to explain this hit: it does not know the hits of
/// its own list by their ids.
pub(crate) const EXPLAINED: &str = "explained";

/// Returns the place of the document that a query asks to explain, if it exists.
fn asked<'a>(one: &Ran<'a>) -> Option<Place<'a>> {
    let id = one.query.explain.as_ref()?.document_id.as_deref()?;
    Some((one.target.uid, one.target.snapshot.find(id)?))
}

/// The positions of the queries that ask to explain the document at `place`.
pub(super) fn asking(ran: &[Ran<'_>], place: Place<'_>) -> Vec<usize> {
    let asking = ran.iter().enumerate().filter(|(_, one)| asked(one) == Some(place));
    asking.map(|(position, one)| one.position.unwrap_or(position)).collect()
}

/// One entry for each query that asked. Each speaks of the list of its query; whether the document that was asked for is
/// a hit has the place in the merged one.
pub(super) fn explanations(ran: &[Ran<'_>], merged: &Merged<'_>) -> Vec<Value> {
    let explained = ran.iter().enumerate().filter(|(_, one)| one.query.explain.is_some());
    explained
        .map(|(position, one)| {
            let place = asked(one);
            json!({
                "indexUid": one.target.name,
                "queriesPosition": one.position.unwrap_or(position),
                "explanation": of_search(one.target, &one.found, |nth| reason(ran, merged, one, place, nth)),
            })
        })
        .collect()
}

/// Returns the fate of the document at `place`, which is the `nth` hit of `one`.
fn reason(ran: &[Ran<'_>], merged: &Merged<'_>, one: &Ran<'_>, place: Option<Place<'_>>, nth: u64) -> &'static str {
    let Some(place) = place else { return on_page(&one.found, nth) };
    let is_shown = merged.hits.iter().any(|hit| {
        let of = &ran[hit.query];
        (of.target.uid, of.found.result.hits[hit.hit].address) == place
    });
    if is_shown {
        HIT
    } else if merged.not_distinct.contains(&place) {
        NOT_DISTINCT
    } else {
        match on_page(&one.found, nth) {
            HIT => OUTSIDE,
            other => other,
        }
    }
}
