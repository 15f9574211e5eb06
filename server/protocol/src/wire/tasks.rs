//! Requests about tasks and batches.

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::timestamp::Timestamp;
use lamina_engine::text::{Date, Moment, Precision};

use super::query_string::{Parameter, QueryString, joined};
use super::task_names::{Kind, Status};

const PAGING: [&str; 3] = ["limit", "from", "reverse"];

/// Parameters that choose tasks, in the order in which messages list them.
pub const FILTERS: [&str; 12] = [
    "batchUids",
    "uids",
    "canceledBy",
    "types",
    "statuses",
    "indexUids",
    "afterEnqueuedAt",
    "beforeEnqueuedAt",
    "afterStartedAt",
    "beforeStartedAt",
    "afterFinishedAt",
    "beforeFinishedAt",
];

/// Parameters of lists of tasks and batches.
pub const LIST: [&str; PAGING.len() + FILTERS.len()] = joined(PAGING, FILTERS);

/// Condition on tasks. Values of one list are alternatives; lists and bounds must all
/// hold. `None` is no condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Tasks with these uids.
    pub uids: Option<Vec<u32>>,
    /// Tasks of these batches.
    pub batch_uids: Option<Vec<u32>>,
    /// Tasks of these indexes; tasks that are not about one index never match.
    pub index_uids: Option<Vec<String>>,
    /// Tasks of indexes that match one of these uids or patterns with a final `*`: what the caller may see, whatever it asks for.
    pub visible: Option<Vec<String>>,
    /// Tasks of these types.
    pub kinds: Option<Vec<Kind>>,
    /// Tasks in these states.
    pub statuses: Option<Vec<Status>>,
    /// Tasks that these cancelations ended.
    pub canceled_by: Option<Vec<u32>>,
    /// Registered between.
    pub enqueued: Bounds,
    /// Started between.
    pub started: Bounds,
    /// Finished between.
    pub finished: Bounds,
}

/// An open interval of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Strictly later than this.
    pub after: Option<Timestamp>,
    /// Strictly earlier than this.
    pub before: Option<Timestamp>,
}

impl Bounds {
    /// Reports whether there is no bound.
    pub fn is_open(&self) -> bool {
        self.after.is_none() && self.before.is_none()
    }

    /// Reports whether `time` lies between the bounds.
    pub fn admits(&self, time: Timestamp) -> bool {
        self.after.is_none_or(|after| time > after) && self.before.is_none_or(|before| time < before)
    }
}

/// Start and length of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paging {
    /// Most results.
    pub limit: u64,
    /// First uid, inclusive.
    pub from: Option<u32>,
    /// Oldest first instead of newest first.
    pub reverse: bool,
}

/// The query string of a list of tasks or batches.
///
/// # Errors
/// The first problem in the order of the text.
pub fn list_parameters(query: &QueryString) -> ApiResult<(TaskFilter, Paging)> {
    let mut filter = TaskFilter::default();
    let mut paging = Paging { limit: 20, from: None, reverse: false };
    query.parameters(&LIST, |name, parameter| {
        match name {
            "limit" => paging.limit = u64::from(integer(&parameter.code(Code::InvalidTaskLimit))?),
            "from" => paging.from = Some(integer(&parameter.code(Code::InvalidTaskFrom))?),
            "reverse" => paging.reverse = parameter.code(Code::InvalidTaskReverse).boolean()?,
            name => read_filter(&mut filter, name, parameter)?,
        }
        Ok(())
    })?;
    Ok((filter, paging))
}

/// The query string of a cancelation or deletion of tasks; `verb` completes the message when it is empty.
///
/// # Errors
/// `missing_task_filters`, or the first problem in the order of the text.
pub fn selecting_parameters(query: &QueryString, verb: &str) -> ApiResult<TaskFilter> {
    if query.is_empty() {
        return Err(ApiError::new(
            Code::MissingTaskFilters,
            format!(
                "Query parameters to filter the tasks to {verb} are missing. Available query parameters are: `uids`, \
                 `indexUids`, `statuses`, `types`, `canceledBy`, `beforeEnqueuedAt`, `afterEnqueuedAt`, \
                 `beforeStartedAt`, `afterStartedAt`, `beforeFinishedAt`, `afterFinishedAt`."
            ),
        ));
    }
    let mut filter = TaskFilter::default();
    query.parameters(&FILTERS, |name, parameter| read_filter(&mut filter, name, parameter))?;
    Ok(filter)
}

fn read_filter(filter: &mut TaskFilter, name: &str, parameter: Parameter<'_>) -> ApiResult<()> {
    match name {
        "uids" => filter.uids = list(parameter.code(Code::InvalidTaskUids), integer)?,
        "batchUids" => filter.batch_uids = list(parameter.code(Code::InvalidBatchUids), integer)?,
        "canceledBy" => filter.canceled_by = list(parameter.code(Code::InvalidTaskCanceledBy), integer)?,
        "indexUids" => {
            filter.index_uids = list(parameter.code(Code::InvalidIndexUid), |element| element.index_uid())?;
        }
        "types" => filter.kinds = list(parameter.code(Code::InvalidTaskTypes), kind)?,
        "statuses" => filter.statuses = list(parameter.code(Code::InvalidTaskStatuses), status)?,
        "afterEnqueuedAt" => {
            filter.enqueued.after = date(&parameter.code(Code::InvalidTaskAfterEnqueuedAt), Edge::After)?;
        }
        "beforeEnqueuedAt" => {
            filter.enqueued.before = date(&parameter.code(Code::InvalidTaskBeforeEnqueuedAt), Edge::Before)?;
        }
        "afterStartedAt" => {
            filter.started.after = date(&parameter.code(Code::InvalidTaskAfterStartedAt), Edge::After)?;
        }
        "beforeStartedAt" => {
            filter.started.before = date(&parameter.code(Code::InvalidTaskBeforeStartedAt), Edge::Before)?;
        }
        "afterFinishedAt" => {
            filter.finished.after = date(&parameter.code(Code::InvalidTaskAfterFinishedAt), Edge::After)?;
        }
        _ => filter.finished.before = date(&parameter.code(Code::InvalidTaskBeforeFinishedAt), Edge::Before)?,
    }
    Ok(())
}

/// `*` is no condition, also among others; these have to be right all the same. A list of nothing is a condition that nothing
/// meets.
fn list<T>(
    parameter: Parameter<'_>,
    mut read: impl FnMut(&Parameter<'_>) -> ApiResult<T>,
) -> ApiResult<Option<Vec<T>>> {
    let elements = parameter.list(|element| if element.text()? == "*" { Ok(None) } else { read(element).map(Some) })?;
    let is_star = elements.iter().any(Option::is_none);
    Ok((!is_star).then(|| elements.into_iter().flatten().collect()))
}

fn integer(parameter: &Parameter<'_>) -> ApiResult<u32> {
    let text = parameter.text()?;
    text.trim().parse().map_err(|_| parameter.invalid(format!("could not parse `{text}` as a positive integer")))
}

fn kind(parameter: &Parameter<'_>) -> ApiResult<Kind> {
    let text = parameter.text()?;
    Kind::parse(text).ok_or_else(|| {
        parameter.invalid(format!(
            "`{text}` is not a valid task type. Available types are {}.",
            quoted(Kind::ALL.iter().map(|kind| kind.as_str()))
        ))
    })
}

fn status(parameter: &Parameter<'_>) -> ApiResult<Status> {
    let text = parameter.text()?;
    Status::parse(text).ok_or_else(|| {
        parameter.invalid(format!(
            "`{text}` is not a valid task status. Available statuses are {}.",
            quoted(Status::ALL.iter().map(|status| status.as_str()))
        ))
    })
}

fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

const DAY_NANOS: i128 = 86_400 * 1_000_000_000;

/// Side of an open interval on which a date lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    After,
    Before,
}

/// A point in time, or a day: everything *before* a day ends at its midnight, *after* it begins at the next one.
fn date(parameter: &Parameter<'_>, edge: Edge) -> ApiResult<Option<Timestamp>> {
    let text = parameter.text()?;
    if text == "*" {
        return Ok(None);
    }
    let date = Date::parse(text).ok_or_else(|| {
        parameter.invalid(format!(
            "`{text}` is an invalid date-time. It should follow the YYYY-MM-DD or RFC 3339 date-time format."
        ))
    })?;
    let is_next_midnight = date.precision == Precision::Day && edge == Edge::After;
    let nanos = date.moment.nanos() + if is_next_midnight { DAY_NANOS } else { 0 };
    Ok(Some(Moment::from_nanos(nanos).into()))
}

/// The uid in a path like `/tasks/{uid}`; `what` is `Task` or `Batch`.
///
/// # Errors
/// Anything but digits.
pub fn uid_in_path(segment: &str, what: &str) -> ApiResult<u32> {
    let text = super::identifier::decode_path_segment(segment);
    text.parse().map_err(|_| {
        let code = if what == "Batch" { Code::InvalidBatchUids } else { Code::InvalidTaskUids };
        ApiError::new(code, format!("{what} uid `{text}` is invalid. It should only contain numeric characters."))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::macros::datetime;

    fn filter(query: &str) -> Result<TaskFilter, (Code, String)> {
        list_parameters(&QueryString::parse(query)).map(|(filter, _)| filter).map_err(|e| (e.code, e.message))
    }

    #[test]
    fn lists_are_read_whatever_their_case() {
        let filter = filter("uids=1,2&statuses=ENQUEUED,failed&types=indexcreation&indexUids=a,b").unwrap();
        assert_eq!(filter.uids, Some(vec![1, 2]));
        assert_eq!(filter.statuses, Some(vec![Status::Enqueued, Status::Failed]));
        assert_eq!(filter.kinds, Some(vec![Kind::IndexCreation]));
        assert_eq!(filter.index_uids, Some(vec!["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn a_star_is_no_condition() {
        assert_eq!(filter("uids=*&statuses=*&beforeEnqueuedAt=*").unwrap(), TaskFilter::default());
        assert_eq!(filter("uids=1,*&statuses=*,failed,").unwrap(), TaskFilter::default());
        assert_eq!(filter("uids=a,*").unwrap_err().0, Code::InvalidTaskUids);
    }

    #[test]
    fn nothing_is_a_condition_that_nothing_meets() {
        let nothing = filter("uids=&statuses=,").unwrap();
        assert_eq!((nothing.uids, nothing.statuses), (Some(vec![]), Some(vec![])));
    }

    #[test]
    fn days_exclude_themselves() {
        let filter = filter("beforeEnqueuedAt=2024-03-01&afterStartedAt=2024-03-01").unwrap();
        assert_eq!(filter.enqueued.before, Some(datetime!(2024-03-01 0:00 UTC).into()));
        assert_eq!(filter.started.after, Some(datetime!(2024-03-02 0:00 UTC).into()));
        let exact = self::filter("afterFinishedAt=2024-03-01T10:00:00%2B02:00").unwrap();
        assert_eq!(exact.finished.after, Some(datetime!(2024-03-01 8:00 UTC).into()));
        let last = self::filter("afterEnqueuedAt=9999-12-31").unwrap();
        assert_eq!(last.enqueued.after, Some(datetime!(9999-12-31 0:00 UTC).into()));
        let local = self::filter("afterFinishedAt=2024-03-01%2010:00:00.5").unwrap();
        assert_eq!(local.finished.after, Some(datetime!(2024-03-01 10:00:00.5 UTC).into()));
    }

    #[test]
    fn refusals_name_the_element() {
        assert_eq!(
            filter("uids=1,a").unwrap_err(),
            (
                Code::InvalidTaskUids,
                "Invalid value in parameter `uids[1]`: could not parse `a` as a positive integer".to_owned()
            )
        );
        assert_eq!(
            filter("statuses=nope").unwrap_err().1,
            "Invalid value in parameter `statuses`: `nope` is not a valid task status. Available statuses are \
             `enqueued`, `processing`, `succeeded`, `failed`, `canceled`."
        );
        assert_eq!(filter("afterEnqueuedAt=yesterday").unwrap_err().0, Code::InvalidTaskAfterEnqueuedAt);
        let limit = |query: &str| list_parameters(&QueryString::parse(query)).map(|(_, paging)| paging.limit);
        assert_eq!(limit("limit=4294967295"), Ok(4_294_967_295));
        assert_eq!(limit("limit=4294967296").unwrap_err().code, Code::InvalidTaskLimit);
        assert_eq!(
            filter("unknown=1").unwrap_err().1,
            "Unknown parameter `unknown`: expected one of `limit`, `from`, `reverse`, `batchUids`, `uids`, \
             `canceledBy`, `types`, `statuses`, `indexUids`, `afterEnqueuedAt`, `beforeEnqueuedAt`, `afterStartedAt`, \
             `beforeStartedAt`, `afterFinishedAt`, `beforeFinishedAt`"
        );
    }

    #[test]
    fn selections_need_a_condition() {
        let error = selecting_parameters(&QueryString::parse(""), "cancel").unwrap_err();
        assert_eq!(error.code, Code::MissingTaskFilters);
        assert!(error.message.starts_with("Query parameters to filter the tasks to cancel are missing. Available"));
        assert!(selecting_parameters(&QueryString::parse("uids=*"), "cancel").is_ok());
        assert_eq!(selecting_parameters(&QueryString::parse("limit=1"), "cancel").unwrap_err().code, Code::BadRequest);
    }

    #[test]
    fn uids_in_paths_are_digits() {
        assert_eq!(uid_in_path("12", "Task"), Ok(12));
        let error = uid_in_path("x", "Batch").unwrap_err();
        assert_eq!(error.code, Code::InvalidBatchUids);
        assert_eq!(error.message, "Batch uid `x` is invalid. It should only contain numeric characters.");
    }
}
