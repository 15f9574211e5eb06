//! Figures of what people did in an index, from the documents of [`lamina_data::events`]: one pass over their columns.
//!
//! A click, a conversion or a view counts for the search that its `queryUid` names. Where that search is not in the time that is asked
//! for, or was not recorded, the event counts as unmatched.

mod columns;
mod evidence;
mod experiment;
mod report;
mod searches;

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use lamina_base::budget::AnswerBudget;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_data::events::{SEARCH_KIND, fields, matching};
use lamina_engine::bits::DocSet;
use lamina_engine::index::Snapshot;
use lamina_protocol::wire::analytics::{AnalyticsQuery, ListKind};

use columns::Columns;
pub(crate) use experiment::{Outcome, outcome};
pub(crate) use report::{csv, figures, list};
pub(crate) use searches::searches;

/// Time of one answer.
const TIME_MAX: Duration = Duration::from_secs(20);
/// Documents between two looks at the clock.
const CLOCK_INTERVAL: u32 = 4096;
/// Bytes of an entry of a map, with its share of the table.
const ENTRY_BYTES: usize = 96;

/// Sums over searches and over what came of them.
#[derive(Clone, Debug, Default)]
struct Tally {
    searches: u64,
    /// Searches of the time before, which lists of rising queries compare with.
    searches_before: u64,
    without_hits: u64,
    /// Searches with hits and without a click.
    without_clicks: u64,
    clicked: u64,
    converted: u64,
    acts: Acts,
    millis_sum: u64,
    millis_max: u64,
}

/// Events of a search.
#[derive(Clone, Copy, Debug, Default)]
struct Acts {
    clicks: u64,
    conversions: u64,
    views: u64,
    /// Clicks with a position.
    positioned: u64,
    position_sum: u64,
    /// Number of events in the time that is asked for.
    in_time: u64,
    is_matched: bool,
}

/// A recorded search.
struct Found {
    at: u64,
    total: u64,
    millis: u64,
    acts: Acts,
}

/// Everything that an answer is made of.
#[derive(Debug, Default)]
struct Totals {
    all: Tally,
    users: HashSet<u128>,
    unmatched: u64,
    /// By the time at which a step begins.
    steps: HashMap<u64, (Tally, HashSet<u128>)>,
    /// By the text of a query or a filter: as it was written first, and its sums.
    groups: HashMap<String, (String, Tally)>,
}

/// Request for sums, and the limits of it.
struct Work<'a> {
    query: &'a AnalyticsQuery,
    list: Option<ListKind>,
    budget: &'a AnswerBudget,
    begun: Instant,
}

impl Acts {
    fn add(&mut self, other: Acts) {
        self.clicks += other.clicks;
        self.conversions += other.conversions;
        self.views += other.views;
        self.positioned += other.positioned;
        self.position_sum += other.position_sum;
    }
}

impl Tally {
    fn add(&mut self, found: &Found) {
        self.searches += 1;
        self.without_hits += u64::from(found.total == 0);
        self.without_clicks += u64::from(found.total > 0 && found.acts.clicks == 0);
        self.clicked += u64::from(found.acts.clicks > 0);
        self.converted += u64::from(found.acts.conversions > 0);
        self.millis_sum += found.millis;
        self.millis_max = self.millis_max.max(found.millis);
    }
}

/// Sums what passes `filter`, which selects the documents of an index.
fn totals(
    snapshot: &Snapshot,
    filter: &str,
    query: &AnalyticsQuery,
    list: Option<ListKind>,
    budget: &AnswerBudget,
) -> ApiResult<Totals> {
    let work = Work { query, list, budget, begun: Instant::now() };
    let selected = work.selected(snapshot, filter)?;
    let segments: Vec<_> = snapshot.segments.iter().map(|segment| Columns::of(snapshot, segment)).collect();
    let mut totals = Totals::default();
    let mut acts = HashMap::new();
    for (columns, docs) in segments.iter().zip(&selected) {
        work.each(docs, |doc| work.add_event(columns, doc, &mut acts, &mut totals))?;
    }
    for (columns, docs) in segments.iter().zip(&selected) {
        work.each(docs, |doc| work.add_search(columns, doc, &mut acts, &mut totals))?;
    }
    let unmatched = acts.values().filter(|acts| !acts.is_matched).map(|acts| acts.in_time);
    totals.unmatched += unmatched.sum::<u64>();
    Ok(totals)
}

impl Work<'_> {
    /// Returns the time from which on documents are read.
    fn first(&self) -> u64 {
        match self.list {
            Some(ListKind::Rising) => self.query.start.saturating_sub(self.query.end - self.query.start),
            _ => self.query.start,
        }
    }

    /// The documents that pass `filter` since then. What comes of a search may come after the end of the time.
    fn selected(&self, snapshot: &Snapshot, filter: &str) -> ApiResult<Vec<DocSet>> {
        let filter = format!("{filter} AND {} >= {}", fields::AT, self.first());
        matching(snapshot, &filter).map_err(|error| ApiError::internal(error.to_string()))
    }

    fn is_in_time(&self, at: u64) -> bool {
        (self.query.start..self.query.end).contains(&at)
    }

    /// Calls `see` with each document, within the time that there is.
    fn each(&self, docs: &DocSet, mut see: impl FnMut(u32) -> ApiResult<()>) -> ApiResult<()> {
        let (mut outcome, mut count) = (Ok(()), 0);
        docs.for_each(|doc| {
            if outcome.is_err() {
                return;
            }
            count += 1;
            if count % CLOCK_INTERVAL == 0 && self.begun.elapsed() > TIME_MAX {
                outcome = Err(ApiError::new(
                    Code::AnalyticsTakeTooLong,
                    format!("The figures take longer than {} s: ask for a shorter time.", TIME_MAX.as_secs()),
                ));
                return;
            }
            outcome = see(doc);
        });
        outcome
    }

    fn add_event(
        &self,
        columns: &Columns,
        doc: u32,
        acts: &mut HashMap<u128, Acts>,
        totals: &mut Totals,
    ) -> ApiResult<()> {
        let one = match columns.text(fields::KIND, doc) {
            "click" => {
                let position = columns.number(fields::POSITION, doc);
                let (positioned, position_sum) = (u64::from(position.is_some()), position.unwrap_or_default());
                Acts { clicks: 1, positioned, position_sum, ..Acts::default() }
            }
            "conversion" => Acts { conversions: 1, ..Acts::default() },
            "view" => Acts { views: 1, ..Acts::default() },
            _ => return Ok(()),
        };
        let at = columns.number(fields::AT, doc).unwrap_or_default();
        let is_in_time = self.is_in_time(at);
        if is_in_time {
            totals.all.acts.add(one);
            if let Some((step, _)) = self.step(at, totals)? {
                step.acts.add(one);
            }
            self.add_user(columns, doc, at, totals)?;
        }
        let mut search = None;
        columns.queries(doc, |uid| search = Some(uid));
        match search {
            Some(uid) => {
                let count = acts.len();
                let of_search = acts.entry(uid).or_default();
                of_search.add(one);
                of_search.in_time += u64::from(is_in_time);
                if acts.len() > count {
                    self.budget.take(ENTRY_BYTES)?;
                }
            }
            None => totals.unmatched += u64::from(is_in_time),
        }
        Ok(())
    }

    fn add_search(
        &self,
        columns: &Columns,
        doc: u32,
        acts: &mut HashMap<u128, Acts>,
        totals: &mut Totals,
    ) -> ApiResult<()> {
        let at = columns.number(fields::AT, doc).unwrap_or_default();
        if at >= self.query.end || columns.text(fields::KIND, doc) != SEARCH_KIND {
            return Ok(());
        }
        let number = |field| columns.number(field, doc).unwrap_or_default();
        let mut found =
            Found { at, total: number(fields::TOTAL), millis: number(fields::MILLIS), acts: Acts::default() };
        columns.queries(doc, |uid| {
            if let Some(of_search) = acts.get_mut(&uid) {
                of_search.is_matched = true;
                found.acts.add(*of_search);
            }
        });
        if let Some(list) = self.list {
            return self.add_to_group(columns, doc, list, &found, totals);
        }
        totals.all.add(&found);
        if let Some((step, _)) = self.step(at, totals)? {
            step.add(&found);
        }
        self.add_user(columns, doc, at, totals)
    }

    fn add_to_group(
        &self,
        columns: &Columns,
        doc: u32,
        list: ListKind,
        found: &Found,
        totals: &mut Totals,
    ) -> ApiResult<()> {
        let field = if list == ListKind::Filters { fields::FILTER } else { fields::TEXT };
        let text = columns.text(field, doc);
        if text.is_empty() {
            return Ok(());
        }
        if !totals.groups.contains_key(text) {
            let original = columns.original(field, doc).to_owned();
            self.budget.take(2 * ENTRY_BYTES + size_of::<Tally>() + text.len() + original.len())?;
            totals.groups.insert(text.to_owned(), (original, Tally::default()));
        }
        let Some((_, tally)) = totals.groups.get_mut(text) else { return Ok(()) };
        if self.is_in_time(found.at) {
            tally.add(found);
            tally.acts.add(found.acts);
        } else {
            tally.searches_before += 1;
        }
        Ok(())
    }

    /// The step of the series that a time is in.
    fn step<'t>(&self, at: u64, totals: &'t mut Totals) -> ApiResult<Option<&'t mut (Tally, HashSet<u128>)>> {
        let Some(step) = self.query.step else { return Ok(None) };
        if !totals.steps.contains_key(&(at / step)) {
            self.budget.take(ENTRY_BYTES + size_of::<Tally>())?;
        }
        Ok(Some(totals.steps.entry(at / step).or_default()))
    }

    fn add_user(&self, columns: &Columns, doc: u32, at: u64, totals: &mut Totals) -> ApiResult<()> {
        let Some(user) = columns.user(doc) else { return Ok(()) };
        if totals.users.insert(user) {
            self.budget.take(ENTRY_BYTES)?;
        }
        if let Some((_, users)) = self.step(at, totals)?
            && users.insert(user)
        {
            self.budget.take(ENTRY_BYTES)?;
        }
        Ok(())
    }
}
