//! What boosts make of documents: a factor for each, from the columns of its segment.

use std::sync::Arc;
use std::time::SystemTime;

use lamina_index::index::settings::{AvailableAttributes, Boost, BoostRule, Decay, FieldBoost, GEO_FIELD, Origin};
use lamina_index::index::{SegmentView, Snapshot};
use lamina_segment::bits::DocSet;
use lamina_segment::segment::{Column, SegmentReader};
use lamina_text::id::{DocId, FieldId};
use lamina_text::text::Moment;
use thiserror::Error;

use crate::condition::{ConditionError, OutOfTime, PreparedFilter, TimeLimit};
use crate::geo::distance_m;
use crate::sort::Computed;

/// A boost that the settings do not allow.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum BoostError {
    /// Nothing has made a column of the field.
    #[error("the values of `{attribute}` cannot be read: it is neither filterable nor sortable")]
    NotReadable { attribute: String, available: AvailableAttributes },
    #[error(transparent)]
    Filter(ConditionError),
}

/// The boosts of a search, looked up in the settings and the fields of a snapshot.
#[derive(Debug, Default)]
pub struct Boosts(Vec<Prepared>);

#[derive(Debug)]
enum Prepared {
    Field(FieldBoost, Option<FieldId>),
    Decay(Decay, Target),
    Filter(PreparedFilter, f64),
}

/// Origin of a decay boost, and the field whose distance to it is measured.
#[derive(Clone, Copy, Debug)]
enum Target {
    Number(f64, Option<FieldId>),
    /// Seconds since 1970.
    Moment(f64, Option<FieldId>),
    Point(f64, f64),
}

/// The boosts of the documents of one segment.
#[derive(Default)]
pub struct SegmentBoosts<'a>(Vec<Factor<'a>>);

enum Factor<'a> {
    Field(&'a FieldBoost, Option<Box<Column>>),
    Number(&'a Decay, f64, Option<Box<Column>>),
    Moment(&'a Decay, f64, Option<Box<Column>>),
    Point(&'a Decay, (f64, f64), &'a SegmentReader),
    Filter(DocSet, f64),
}

impl Boosts {
    /// # Errors
    /// The first boost whose field cannot be read, or whose filter the settings do not allow.
    pub fn new<'r>(rules: impl Iterator<Item = &'r BoostRule>, snapshot: &Snapshot) -> Result<Boosts, Box<BoostError>> {
        let prepared = rules.map(|rule| {
            if let Some(field) = rule.field() {
                check_readable(snapshot, field)?;
            }
            let id = rule.field().and_then(|field| snapshot.fields.get(field));
            Ok(match rule.boost() {
                Boost::Field(boost) => Prepared::Field(boost.clone(), id),
                Boost::Decay(decay) => {
                    let target = match decay.origin {
                        Origin::Now => Target::Moment(now(), id),
                        Origin::Moment(seconds) => Target::Moment(seconds, id),
                        Origin::Number(number) => Target::Number(number, id),
                        Origin::Point(point) => Target::Point(point.latitude(), point.longitude()),
                    };
                    Prepared::Decay(decay.clone(), target)
                }
                Boost::Filter(boost) => {
                    let filter = PreparedFilter::new(&boost.filter, &snapshot.settings, &snapshot.fields)
                        .map_err(|error| Box::new(BoostError::Filter(error)))?;
                    Prepared::Filter(filter, boost.weight)
                }
            })
        });
        prepared.collect::<Result<Vec<Prepared>, Box<BoostError>>>().map(Boosts)
    }

    /// Reports whether there are no boosts.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Looks up columns, and evaluates filters until `limit`.
    ///
    /// # Errors
    /// When a filter takes longer.
    pub(crate) fn of_segment<'a>(
        &'a self,
        view: &'a SegmentView,
        limit: TimeLimit<'_>,
    ) -> Result<SegmentBoosts<'a>, OutOfTime> {
        let column = |id: &Option<FieldId>| id.and_then(|id| view.reader.columns().get(id)).map(Box::new);
        let factor = |prepared: &'a Prepared| {
            Ok(match prepared {
                Prepared::Field(boost, id) => Factor::Field(boost, column(id)),
                Prepared::Decay(decay, Target::Number(number, id)) => Factor::Number(decay, *number, column(id)),
                Prepared::Decay(decay, Target::Moment(seconds, id)) => Factor::Moment(decay, *seconds, column(id)),
                Prepared::Decay(decay, Target::Point(lat, lng)) => Factor::Point(decay, (*lat, *lng), &view.reader),
                Prepared::Filter(filter, weight) => Factor::Filter(filter.evaluate(view, limit)?, *weight),
            })
        };
        self.0.iter().map(factor).collect::<Result<Vec<_>, OutOfTime>>().map(SegmentBoosts)
    }
}

fn check_readable(snapshot: &Snapshot, field: &str) -> Result<(), Box<BoostError>> {
    let settings = &snapshot.settings;
    let is_readable = if field == GEO_FIELD { settings.uses_geo() } else { settings.needs_column(field) };
    if is_readable {
        return Ok(());
    }
    let available = AvailableAttributes::sortable(settings);
    Err(Box::new(BoostError::NotReadable { attribute: field.to_owned(), available }))
}

/// In whole seconds since 1970, so that the pages of a list mostly have one time.
fn now() -> f64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    since.as_secs() as f64
}

impl SegmentBoosts<'_> {
    /// Reports whether no boost changes the score of a document.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the factor that boost `index` gives a document. It is not negative.
    pub fn factor(&self, index: usize, doc: DocId) -> f64 {
        self.0[index].of(doc)
    }

    /// Returns the factor that each boost gives a document, in the order of the boosts.
    pub(crate) fn factors(&self, doc: DocId) -> impl Iterator<Item = f64> + '_ {
        self.0.iter().map(move |factor| factor.of(doc))
    }

    /// Returns the product of all factors of a document.
    pub fn product(&self, doc: DocId) -> f64 {
        self.factors(doc).fold(1.0, bounded_product)
    }

    /// Returns the upper bound of the product over all documents of the segment.
    pub fn most(&self) -> f64 {
        self.0.iter().map(Factor::most).fold(1.0, bounded_product)
    }
}

/// Stays finite, so that scores can be compared.
fn bounded_product(one: f64, other: f64) -> f64 {
    (one * other).min(1e100)
}

/// Products go by `usize::MAX`.
impl Computed for SegmentBoosts<'_> {
    fn number(&self, index: usize, doc: DocId) -> f64 {
        if index < self.0.len() { self.factor(index, doc) } else { self.product(doc) }
    }
}

impl Factor<'_> {
    fn of(&self, doc: DocId) -> f64 {
        match self {
            Factor::Field(boost, column) => {
                let number = column.as_deref().and_then(|column| largest_number(column, doc)).unwrap_or(0.0);
                of_number(boost, number)
            }
            Factor::Number(decay, origin, column) => {
                let distance = column.as_deref().and_then(|column| {
                    nearest(column, doc, |ordinal| {
                        (ordinal < column.number_count()).then(|| (column.number(ordinal) - origin).abs())
                    })
                });
                decayed(decay, distance)
            }
            Factor::Moment(decay, origin, column) => {
                let distance = column.as_deref().and_then(|column| {
                    nearest(column, doc, |ordinal| {
                        let seconds = if ordinal < column.number_count() {
                            column.number(ordinal)
                        } else {
                            Moment::parse(column.string(ordinal))?.seconds()
                        };
                        Some((seconds - origin).abs())
                    })
                });
                decayed(decay, distance)
            }
            Factor::Point(decay, origin, reader) => {
                let place = reader.geo().and_then(|geo| geo.point(doc));
                decayed(decay, place.map(|place| distance_m(*origin, place)))
            }
            Factor::Filter(docs, weight) => {
                if docs.contains(doc) {
                    *weight
                } else {
                    1.0
                }
            }
        }
    }

    fn most(&self) -> f64 {
        match self {
            Factor::Field(boost, column) => {
                let count = column.as_deref().map_or(0, Column::number_count);
                let largest = count.checked_sub(1).and_then(|last| Some(column.as_deref()?.number(last)));
                of_number(boost, largest.unwrap_or(0.0))
            }
            Factor::Number(decay, ..) | Factor::Moment(decay, ..) | Factor::Point(decay, ..) => 1.0 + decay.weight,
            Factor::Filter(_, weight) => weight.max(1.0),
        }
    }
}

/// Returns the value that a number counts as: finite, however large it is.
fn of_number(boost: &FieldBoost, number: f64) -> f64 {
    (1.0 + boost.weight * boost.function.of(number.max(0.0))).min(f64::MAX)
}

fn decayed(decay: &Decay, distance: Option<f64>) -> f64 {
    1.0 + decay.weight * distance.map_or(0.0, |distance| decay.nearness(distance))
}

fn largest_number(column: &Column, doc: DocId) -> Option<f64> {
    let mut largest = None;
    // Ordinals ascend, and numbers come before strings.
    column.for_each_ordinal(doc, |ordinal| {
        if ordinal < column.number_count() {
            largest = Some(ordinal);
        }
    });
    largest.map(|ordinal| column.number(ordinal))
}

fn nearest(column: &Column, doc: DocId, distance: impl Fn(u32) -> Option<f64>) -> Option<f64> {
    let mut least: Option<f64> = None;
    column.for_each_ordinal(doc, |ordinal| {
        if let Some(found) = distance(ordinal) {
            least = Some(least.map_or(found, |least| least.min(found)));
        }
    });
    least
}

/// Shared by what orders documents and what scores them.
pub(crate) type SharedBoosts<'a> = Arc<SegmentBoosts<'a>>;
