//! Outcome of an experiment, from the searches that it recorded and the events that came of them.
//!
//! Interleaved lists vote once for a user and a query, by the team that more goals belong to. Of a split, each user votes once, by
//! whether their first visit has a goal. A visit, and what counts for a query, ends `windowSeconds` after the first search; votes are
//! counted then, in this order, and do not change any more.

use std::collections::HashMap;
use std::time::Instant;

use lamina_base::budget::AnswerBudget;
use lamina_base::error::ApiResult;
use lamina_data::events::{SEARCH_KIND, fields, unix_seconds};
use lamina_data::experiments::Experiment;
use lamina_engine::index::Snapshot;
use lamina_protocol::wire::analytics::{AnalyticsQuery, Format};
use lamina_protocol::wire::experiments::{Goal, Method};
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use super::columns::Columns;
use super::evidence::Evidence;
use super::searches::{Record, record};
use super::{ENTRY_BYTES, Work};
use crate::answer::search::{Group, Team};

/// An event.
struct Act {
    user: Option<String>,
    at: i64,
    goal: Goal,
    object: Option<String>,
}

/// A search, with what its events say: for each its time and kind, and the team of its hit.
struct Row {
    at: i64,
    user: String,
    group: Group,
    /// Hash of its text and filter.
    query: u64,
    acts: Vec<(i64, Goal, Team)>,
}

/// First visit of a user, or what a user did for one query.
struct Visit {
    begun: i64,
    group: Group,
    has_click: bool,
    has_goal: bool,
    /// Goals of the variant less those of the control.
    balance: i64,
}

/// Figures of an experiment.
#[derive(Default)]
pub(crate) struct Outcome {
    searches: u64,
    /// Searches whose variant had no answer.
    fallbacks: u64,
    /// Events of another user than their search's, or about what it did not show.
    unmatched: u64,
    /// Visits that ended, and those of them with a click and with a goal.
    visits: [[u64; 3]; Group::NAMES.len()],
    evidence: Evidence,
    /// Clicks of those who see the variant, compared with those of the others.
    guard: Evidence,
}

impl Outcome {
    /// Returns whether the variant is the winner, or the control; `None` where there is none yet.
    pub(crate) fn winner(&self) -> Option<bool> {
        self.evidence.winner()
    }

    /// Returns whether users lose by the experiment.
    pub(crate) fn is_harmful(&self) -> bool {
        self.guard.winner() == Some(false) || self.evidence.winner() == Some(false)
    }

    pub(crate) fn shown(&self) -> Value {
        let of_group = |(name, [visits, clicked, goals]): (&str, [u64; 3])| {
            let shown = json!({ "visits": visits, "visitsWithClick": clicked, "visitsWithGoal": goals });
            (visits > 0).then(|| (name.to_owned(), shown))
        };
        let groups = Group::NAMES.into_iter().zip(self.visits).filter_map(of_group);
        let mut shown = self.evidence.shown();
        shown["searches"] = self.searches.into();
        shown["fallbacks"] = self.fallbacks.into();
        shown["unmatchedEvents"] = self.unmatched.into();
        shown["groups"] = Value::Object(groups.collect());
        shown
    }
}

/// The outcome of an experiment until now.
///
/// # Errors
/// More time or memory than one answer may take.
pub(crate) fn outcome(
    snapshot: &Snapshot,
    (experiment, key): (&Experiment, &str),
    budget: &AnswerBudget,
) -> ApiResult<Outcome> {
    let start = u64::try_from(experiment.started_at.nanos() / 1_000_000_000).unwrap_or(0);
    let query = AnalyticsQuery { start, end: u64::MAX, step: None, offset: 0, limit: 0, format: Format::Json };
    let work = Work { query: &query, list: None, budget, begun: Instant::now() };
    let acts = work.acts(snapshot, &format!("{} = {}", fields::INDEX, experiment.index_identity()))?;
    let mut outcome = Outcome::default();
    let mut rows = work.rows(snapshot, key, &acts, &mut outcome)?;
    rows.sort_by(|one, other| (one.at, &one.user, one.query).cmp(&(other.at, &other.user, other.query)));
    work.count(&rows, experiment, &mut outcome)?;
    Ok(outcome)
}

impl Work<'_> {
    /// The clicks and conversions since the beginning, by their search.
    fn acts(&self, snapshot: &Snapshot, filter: &str) -> ApiResult<HashMap<u128, Vec<Act>>> {
        let mut acts: HashMap<u128, Vec<Act>> = HashMap::new();
        let selected = self.selected(snapshot, filter)?;
        for ((number, segment), docs) in (0u32..).zip(&snapshot.segments).zip(&selected) {
            let columns = Columns::of(snapshot, segment);
            self.each(docs, |doc| {
                let goal = match columns.text(fields::KIND, doc) {
                    "click" => Goal::Click,
                    "conversion" => Goal::Conversion,
                    _ => return Ok(()),
                };
                let Record { queries, user, at, object, .. } = record(snapshot, number, doc)?;
                let Some(search) = queries.first() else { return Ok(()) };
                self.budget.take(2 * ENTRY_BYTES + object.as_ref().map_or(0, String::len))?;
                acts.entry(search.as_u128()).or_default().push(Act { user, at, goal, object });
                Ok(())
            })?;
        }
        Ok(acts)
    }

    /// The searches of the experiment.
    fn rows(
        &self,
        snapshot: &Snapshot,
        key: &str,
        acts: &HashMap<u128, Vec<Act>>,
        outcome: &mut Outcome,
    ) -> ApiResult<Vec<Row>> {
        let mut rows = Vec::new();
        let selected = self.selected(snapshot, &format!("{} = {key}", fields::EXPERIMENT))?;
        for ((number, segment), docs) in (0u32..).zip(&snapshot.segments).zip(&selected) {
            let columns = Columns::of(snapshot, segment);
            self.each(docs, |doc| {
                if columns.text(fields::KIND, doc) == SEARCH_KIND {
                    let found = record(snapshot, number, doc)?;
                    let row = row(&found, acts, outcome);
                    let acts = row.as_ref().map_or(0, |row| row.acts.len());
                    self.budget.take(size_of::<Row>() + ENTRY_BYTES * (1 + acts))?;
                    rows.extend(row);
                }
                Ok(())
            })?;
        }
        Ok(rows)
    }

    /// Counts the votes of searches, the oldest first.
    fn count(&self, rows: &[Row], experiment: &Experiment, outcome: &mut Outcome) -> ApiResult<()> {
        let definition = &experiment.definition;
        let window = i64::from(definition.window_seconds);
        // Visits by user, and queries by user and text; both in the order of their first search.
        let (mut places, mut visits) = (HashMap::new(), Vec::new());
        let (mut query_places, mut queries) = (HashMap::new(), Vec::new());
        for row in rows {
            let place = *places.entry(&row.user).or_insert(visits.len());
            let query_place = *query_places.entry((&row.user, row.query)).or_insert(queries.len());
            self.budget.take(2 * (ENTRY_BYTES + size_of::<Visit>()))?;
            for (all, place) in [(&mut visits, place), (&mut queries, query_place)] {
                if place == all.len() {
                    all.push(Visit::begun(row));
                }
                all[place].add(row, definition.goal, window);
            }
        }
        let ended = i64::try_from(unix_seconds()).unwrap_or(i64::MAX) - window;
        // Those who see the variant among all, and among those who take part.
        let of_all = definition.share;
        for visit in visits.iter().take_while(|visit| visit.begun < ended) {
            let [count, clicked, goals] = &mut outcome.visits[visit.group as usize];
            (*count, *clicked) = (*count + 1, *clicked + u64::from(visit.has_click));
            *goals += u64::from(visit.has_goal);
            let sees_variant = matches!(visit.group, Group::Variant | Group::Interleaved);
            match definition.method {
                Method::Split if visit.group == Group::Outside => {}
                Method::Split => {
                    outcome.evidence.add(vote(sees_variant, 0.5, visit.has_goal));
                    outcome.guard.add(vote(sees_variant, 0.5, visit.has_click));
                }
                Method::Interleave => outcome.guard.add(vote(sees_variant, of_all, visit.has_click)),
            }
        }
        for query in queries.iter().take_while(|query| query.begun < ended && definition.method == Method::Interleave) {
            if query.balance != 0 {
                outcome.evidence.add(query.balance.signum() as f64);
            }
        }
        Ok(())
    }
}

/// The vote of a visit: for the variant where its users have goals and the others have none. Its mean is 0 if what a user sees makes no
/// difference, whatever share of them sees the variant.
fn vote(sees_variant: bool, share: f64, has_goal: bool) -> f64 {
    let side = 2.0 * (f64::from(u8::from(sees_variant)) - share);
    if has_goal { side } else { -side }
}

/// A search with the events that count for it.
fn row(found: &Record, acts: &HashMap<u128, Vec<Act>>, outcome: &mut Outcome) -> Option<Row> {
    outcome.searches += 1;
    outcome.fallbacks += u64::from(found.fell_back);
    let group = Group::named(found.group.as_deref()?)?;
    let user = found.user.clone()?;
    let mut counted = Vec::new();
    for act in found.queries.iter().filter_map(|uid| acts.get(&uid.as_u128())).flatten() {
        let place = found.hits.iter().position(|hit| Some(hit) == act.object.as_ref());
        if act.user.as_ref() != Some(&user) || place.is_none() {
            outcome.unmatched += 1;
            continue;
        }
        let letter = place.and_then(|place| found.teams.chars().nth(place));
        counted.push((act.at, act.goal, letter.map_or(Team::Neither, Team::of_letter)));
    }
    let query = xxh3_64(json!([found.text.trim().to_lowercase(), found.filter]).to_string().as_bytes());
    Some(Row { at: found.at, user, group, query, acts: counted })
}

impl Visit {
    fn begun(row: &Row) -> Visit {
        Visit { begun: row.at, group: row.group, has_click: false, has_goal: false, balance: 0 }
    }

    fn add(&mut self, row: &Row, wanted: Goal, window: i64) {
        for (at, goal, team) in &row.acts {
            if *at > self.begun + window {
                continue;
            }
            self.has_click |= *goal == Goal::Click;
            if *goal == wanted {
                self.has_goal = true;
                self.balance += match team {
                    Team::Neither => 0,
                    Team::Control => -1,
                    Team::Variant => 1,
                };
            }
        }
    }
}
