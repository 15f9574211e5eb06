//! Documents that expire: they are hidden from readers from their moment on, and removed later.
//!
//! A view of a snapshot is a snapshot in which they are deleted. It is made when one is asked for, and serves until the next
//! document expires: the values of the column ascend, so that the expired ones are a range of them, and the first behind it
//! says until when.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use hashbrown::HashMap;
use lamina_segment::bits::{BitsetBuilder, DocSet};
use lamina_segment::segment::Column;
use lamina_text::id::{FieldId, SegmentId};
use lamina_text::text::Moment;
use roaring::RoaringBitmap;

use super::snapshot::{SegmentView, Snapshot};
use super::tombstones::Tombstones;

/// A snapshot as readers see it for a while.
#[derive(Debug)]
pub(super) struct View {
    /// Snapshot that the view was derived from.
    base: Arc<Snapshot>,
    /// From when it holds, and until the next document expires.
    from: Moment,
    until: Option<Moment>,
    /// Snapshot that readers get.
    pub(super) snapshot: Arc<Snapshot>,
    field: Option<FieldId>,
    dates: HashMap<Segment, Arc<Dates>>,
}

/// A segment, and the file with what its documents got since.
type Segment = (SegmentId, Option<String>);

/// The texts of a column that are dates, ascending in time.
#[derive(Debug)]
struct Dates(Vec<(Moment, u32)>);

impl View {
    /// Reports whether this is the view of `base` at `now`.
    pub(super) fn holds(&self, base: &Arc<Snapshot>, now: Moment) -> bool {
        Arc::ptr_eq(&self.base, base) && self.from <= now && self.until.is_none_or(|until| now < until)
    }

    /// Reports whether the view has no other holder.
    pub(super) fn is_unused(&self) -> bool {
        Arc::ptr_eq(&self.base, &self.snapshot) || Arc::strong_count(&self.snapshot) == 1
    }

    /// Creates the view of `base` at `now`. `before`: the previous view, from which the dates of segments are reused.
    pub(super) fn new(base: Arc<Snapshot>, attribute: &str, now: Moment, before: Option<&View>) -> View {
        let field = base.fields.get(attribute);
        let mut view = View { from: now, until: None, snapshot: Arc::clone(&base), field, dates: HashMap::new(), base };
        let Some(field) = field else { return view };
        let known = before.filter(|before| before.field == Some(field));
        let mut segments = view.base.segments.clone();
        let mut has_expired = false;
        for segment in &mut segments {
            let Some(column) = segment.reader.columns().get(field) else { continue };
            let key = (segment.id(), segment.reader.meta().last_patch_file().map(|file| file.name.clone()));
            let dates = known.and_then(|known| known.dates.get(&key)).cloned();
            let dates = dates.unwrap_or_else(|| Arc::new(Dates::of(&column)));
            let (expired, next) = dates.expired(&column, now);
            view.until = [view.until, next].into_iter().flatten().min();
            view.dates.insert(key, dates);
            has_expired |= hide(segment, &expired);
        }
        if has_expired {
            view.snapshot = Arc::new(Snapshot { segments, ..Snapshot::clone(&view.base) });
        }
        view
    }
}

/// Adds the documents to those that are deleted, and answers whether any was not yet.
fn hide(segment: &mut SegmentView, docs: &DocSet) -> bool {
    if docs.is_empty() {
        return false;
    }
    let mut bitmap = segment.deleted.as_ref().map_or_else(RoaringBitmap::new, |deleted| deleted.bitmap().clone());
    let before = bitmap.len();
    docs.for_each(|doc| {
        bitmap.insert(doc);
    });
    let is_more = bitmap.len() > before;
    if is_more {
        segment.deleted = Some(Arc::new(Tombstones::new(bitmap)));
    }
    is_more
}

impl Dates {
    /// Cost: reading each distinct text of the column.
    fn of(column: &Column) -> Dates {
        let texts = column.number_count()..column.value_count();
        let mut dates: Vec<(Moment, u32)> =
            texts.filter_map(|ordinal| Some((Moment::parse(column.string(ordinal))?, ordinal))).collect();
        dates.sort_unstable();
        Dates(dates)
    }

    /// The documents whose last date is not later than `now`, and when the next one expires. Cost: their number, and that of
    /// all documents with a date where some have several.
    fn expired(&self, column: &Column, now: Moment) -> (DocSet, Option<Moment>) {
        let moment = |ordinal: u32| Moment::from_unix_seconds(column.number(ordinal));
        let numbers = column.number_count();
        // Numbers that are no seconds of the calendar are at both ends.
        let first = partition(0..numbers, |ordinal| moment(ordinal).is_none() && column.number(ordinal) < 0.0);
        let end = partition(first..numbers, |ordinal| moment(ordinal).is_some());
        let passed = partition(first..end, |ordinal| moment(ordinal).is_some_and(|moment| moment <= now));
        let passed_texts = self.0.partition_point(|(moment, _)| *moment <= now);
        let mut expired = BitsetBuilder::new(column.doc_count());
        column.add_docs(first..passed, &mut expired);
        self.0[..passed_texts].iter().for_each(|(_, ordinal)| column.add_docs(*ordinal..*ordinal + 1, &mut expired));
        let mut expired = expired.finish();
        if !column.is_single_valued() && !expired.is_empty() {
            let mut later = BitsetBuilder::new(column.doc_count());
            column.add_docs(passed..end, &mut later);
            self.0[passed_texts..].iter().for_each(|(_, ordinal)| column.add_docs(*ordinal..*ordinal + 1, &mut later));
            expired.and_not_assign(&later.finish());
        }
        let next_number = (passed < end).then(|| moment(passed)).flatten();
        let next_text = self.0.get(passed_texts).map(|(moment, _)| *moment);
        (expired, [next_number, next_text].into_iter().flatten().min())
    }
}

/// The first of `range` for which `is_before` does not hold; it holds for those before that and for none behind it.
fn partition(range: std::ops::Range<u32>, is_before: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low.midpoint(high);
        if is_before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// A time as dates are compared.
pub(super) fn moment(time: SystemTime) -> Moment {
    let since_1970 = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment::from_nanos(i128::try_from(since_1970.as_nanos()).unwrap_or(i128::MAX))
}

/// Returns a state before the present one as it is at `now`: documents that have expired by then are deleted in it. Cost: the
/// documents that have, and the distinct texts of the field.
pub fn unexpired_at(snapshot: Arc<Snapshot>, now: SystemTime) -> Arc<Snapshot> {
    let Some(attribute) = snapshot.settings.expiry_attribute.clone() else { return snapshot };
    View::new(snapshot, &attribute, moment(now), None).snapshot
}

/// The documents of `snapshot` that have expired at `now`: one set per segment.
pub fn expired(snapshot: &Snapshot, now: SystemTime) -> Vec<DocSet> {
    let now = moment(now);
    let attribute = snapshot.settings.expiry_attribute.as_deref();
    let field = attribute.and_then(|attribute| snapshot.fields.get(attribute));
    let of_segment = |segment: &SegmentView| {
        let column = segment.reader.columns().get(field?)?;
        Some(Dates::of(&column).expired(&column, now).0)
    };
    snapshot.segments.iter().map(|segment| of_segment(segment).unwrap_or_default()).collect()
}
