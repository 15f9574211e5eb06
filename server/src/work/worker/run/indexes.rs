//! Batches that create, change, delete and exchange indexes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use lamina_base::aliases;
use lamina_base::engine_errors::operation_error;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_data::tasks::content::{Content, Swap};
use lamina_data::tasks::store::{FinishedTask, IndexChange, Queued};
use lamina_engine::index::{CommitNote, Index, IndexError, Operation};

use super::record::Record;
use super::{Context, Done, failed, succeeded};

pub(super) fn create(context: Context<'_>, uid: &str, task: u32, primary_key: Option<&str>) -> Option<Done> {
    if context.instance.contains(uid) {
        return Some(context.stored_only(&[failed(task, &already_exists(uid))], &[]));
    }
    if let Err(error) = check_no_alias(context, uid) {
        return Some(context.stored_only(&[failed(task, &error)], &[]));
    }
    let (folder, index) = match context.instance.create_unnamed(context.store, uid, context.live.uid) {
        Ok(created) => created,
        Err(error) => return Some(context.stored_only(&[failed(task, &error)], &[])),
    };
    let changes = [IndexChange::Created { uid: uid.to_owned(), folder: folder.clone() }];
    match set_primary_key(context, uid, &index, task, primary_key, &changes) {
        Some(Ok(())) => {
            let batch = Record::new(context.live).finish(&[succeeded(task, None)], &changes);
            Some(Done { created: vec![(folder, index)], ..Done::from(batch) })
        }
        Some(Err(error)) => {
            context.instance.discard_unnamed(&folder, index);
            Some(context.stored_only(&[failed(task, &error)], &[]))
        }
        None => {
            context.instance.discard_unnamed(&folder, index);
            None
        }
    }
}

pub(super) fn update(
    context: Context<'_>,
    uid: &str,
    task: u32,
    primary_key: Option<&str>,
    new_uid: Option<&str>,
) -> Option<Done> {
    let fail = |error: &ApiError| Some(context.stored_only(&[failed(task, error)], &[]));
    let index = match context.instance.index(uid) {
        Ok(index) => index,
        Err(error) => return fail(&error),
    };
    let new_uid = new_uid.filter(|&new| new != uid);
    if let Some(new) = new_uid
        && context.instance.contains(new)
    {
        return fail(&already_exists(new));
    }
    if let Some(Err(error)) = new_uid.map(|new| check_no_alias(context, new)) {
        return fail(&error);
    }
    let changes: Vec<IndexChange> =
        new_uid.map(|new| IndexChange::Renamed { from: uid.to_owned(), to: new.to_owned() }).into_iter().collect();
    match set_primary_key(context, uid, &index, task, primary_key, &changes)? {
        Ok(()) => {
            if new_uid.is_some()
                && let Err(error) = index.set_dates(index.snapshot().created_at(), SystemTime::now())
            {
                // No reason to keep the old name: what can be done only with luck is the date.
                tracing::warn!(index = uid, %error, "cannot record when an index was renamed");
            }
            Some(context.stored_only(&[succeeded(task, None)], &changes))
        }
        Err(error) => fail(&error),
    }
}

/// Commits the primary key, if one is given. `None` when canceled.
fn set_primary_key(
    context: Context<'_>,
    uid: &str,
    index: &Arc<Index>,
    task: u32,
    primary_key: Option<&str>,
    changes: &[IndexChange],
) -> Option<ApiResult<()>> {
    let Some(primary_key) = primary_key else { return Some(Ok(())) };
    let (record, name, changes) = (Record::new(context.live), uid.to_owned(), changes.to_vec());
    let note = CommitNote::new(u64::from(context.live.uid), move |results| {
        let (ended, changes) = match results {
            [Err(error), ..] => (failed(task, &operation_error(&name, false, error)), Vec::new()),
            _ => (succeeded(task, None), changes),
        };
        serde_json::to_vec(&record.finish(&[ended], &changes)).expect("a finished batch is plain data")
    });
    let operation = Operation::SetPrimaryKey(Some(primary_key.to_owned()));
    match index.apply(&[operation], note, &context.live.progress, &context.live.cancelled) {
        Ok(results) => match results.into_iter().next() {
            Some(Err(error)) => Some(Err(operation_error(uid, false, &error))),
            _ => Some(Ok(())),
        },
        Err(IndexError::Cancelled) if context.is_cancelled() => None,
        Err(error) => Some(Err(ApiError::from(error).prefixed(format_args!("Index `{uid}`: ")))),
    }
}

/// Tasks that share the batch need no work: their documents would be deleted.
pub(super) fn delete(context: Context<'_>, uid: &str, tasks: &[Queued]) -> Done {
    let document_count = context.instance.contains(uid).then(|| {
        // An index that cannot be read can still be deleted.
        match context.instance.summary(uid) {
            Ok(summary) => summary.document_count,
            Err(_) => context.instance.state(uid).map_or(0, |snapshot| snapshot.document_count()),
        }
    });
    let mut exists = document_count.is_some();
    let ended: Vec<FinishedTask> = tasks
        .iter()
        .map(|task| {
            exists |= may_create_index(&task.content);
            match &task.content {
                _ if !exists => failed(task.uid, &ApiError::index_not_found(uid)),
                Content::DeleteIndex => succeeded(task.uid, Some(document_count.unwrap_or(0))),
                _ => succeeded(task.uid, None),
            }
        })
        .collect();
    let changes: Vec<IndexChange> =
        document_count.map(|_| IndexChange::Deleted { uid: uid.to_owned() }).into_iter().collect();
    context.stored_only(&ended, &changes)
}

/// Opens every index: what an older version wrote is read as it is, so that is what there is to find out.
pub(super) fn check_all(context: Context<'_>, tasks: &[Queued]) -> Done {
    let uids = context.instance.uids();
    context.live.steps.enter("opening indexes", 0, uids.len() as u64);
    let open = |uid: &String| {
        let opened = context.instance.snapshot(uid);
        context.live.steps.advance();
        opened.err()
    };
    let unusable = uids.iter().find_map(open);
    let ended: Vec<FinishedTask> = tasks
        .iter()
        .map(|task| match &unusable {
            Some(error) => failed(task.uid, error),
            None => succeeded(task.uid, None),
        })
        .collect();
    context.stored_only(&ended, &[])
}

pub(super) fn swap(context: Context<'_>, task: u32, swaps: &[Swap]) -> Done {
    let mut new_names = swaps.iter().filter(|swap| swap.rename).map(|swap| &swap.indexes[1]);
    let free = new_names.try_for_each(|uid| check_no_alias(context, uid));
    match free.and_then(|()| swap_changes(&|uid| context.instance.contains(uid), task, swaps)) {
        Ok(changes) => context.stored_only(&[succeeded(task, None)], &changes),
        Err(error) => context.stored_only(&[failed(task, &error)], &[]),
    }
}

/// All swaps of a request, or why none is done.
fn swap_changes(exists: &dyn Fn(&str) -> bool, task: u32, swaps: &[Swap]) -> ApiResult<Vec<IndexChange>> {
    let mut missing = BTreeSet::new();
    let mut taken = Vec::new();
    for Swap { indexes: [one, other], rename } in swaps {
        let must_exist = if *rename { vec![one] } else { vec![one, other] };
        missing.extend(must_exist.into_iter().filter(|uid| !exists(uid)).cloned());
        if *rename && exists(other) {
            taken.push((one, other));
        }
    }
    match missing.len() {
        0 => {}
        1 => return Err(ApiError::index_not_found(missing.first().expect("there is one"))),
        _ => {
            let names: Vec<String> = missing.iter().map(|uid| format!("`{uid}`")).collect();
            return Err(ApiError::new(Code::IndexNotFound, format!("Indexes {} not found.", names.join(", "))));
        }
    }
    match taken.as_slice() {
        [] => {}
        [(one, other)] => {
            return Err(ApiError::new(
                Code::IndexAlreadyExists,
                format!(
                    "Cannot rename `{one}` to `{other}` as the index already exists. Hint: You can remove `{other}` \
                     first and then do your remove."
                ),
            ));
        }
        several => {
            let names: Vec<String> = several.iter().map(|(_, other)| format!("`{other}`")).collect();
            return Err(ApiError::new(
                Code::IndexAlreadyExists,
                format!(
                    "The following indexes are being renamed but cannot because their new name conflicts with an \
                     already existing index: {}. Renaming doesn't overwrite the other index name.",
                    names.join(", ")
                ),
            ));
        }
    }
    let change = |swap: &Swap| {
        let [one, other] = swap.indexes.clone();
        if swap.rename {
            IndexChange::SwappedIntoFree { from: one, to: other, task }
        } else {
            IndexChange::Swapped { one, other, task }
        }
    };
    Ok(swaps.iter().map(change).collect())
}

/// Reports whether a task creates its index if it is absent.
pub(super) fn may_create_index(content: &Content) -> bool {
    match content {
        // An index that is not there has no mark.
        Content::Upsert(upsert) => {
            upsert.may_create_index && upsert.mark.as_ref().is_none_or(|mark| mark.expected.is_none())
        }
        Content::Settings { may_create_index, .. } => *may_create_index,
        _ => false,
    }
}

/// Checks that an index may have this name: no alias may hide an index.
pub(super) fn check_no_alias(context: Context<'_>, uid: &str) -> ApiResult<()> {
    match context.instance.aliases().get(uid) {
        Some(_) => Err(aliases::already_exists(uid)),
        None => Ok(()),
    }
}

pub(super) fn already_exists(uid: &str) -> ApiError {
    ApiError::new(Code::IndexAlreadyExists, format!("Index `{uid}` already exists."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swap(one: &str, other: &str, rename: bool) -> Swap {
        Swap { indexes: [one.to_owned(), other.to_owned()], rename }
    }

    fn message(swaps: &[Swap]) -> String {
        swap_changes(&|uid| matches!(uid, "a" | "b" | "c" | "d"), 7, swaps).unwrap_err().message
    }

    #[test]
    fn swaps_need_both_indexes() {
        assert_eq!(message(&[swap("a", "x", false)]), "Index `x` not found.");
        assert_eq!(message(&[swap("y", "x", false)]), "Indexes `x`, `y` not found.");
    }

    #[test]
    fn renaming_swaps_need_a_free_name() {
        assert!(message(&[swap("a", "b", true)]).starts_with("Cannot rename `a` to `b` as the index already exists."));
        assert!(message(&[swap("a", "b", true), swap("c", "d", true)]).contains("existing index: `b`, `d`. Renaming"));
        assert_eq!(message(&[swap("x", "y", true)]), "Index `x` not found.");
    }

    #[test]
    fn changes_follow_the_order_of_the_request() {
        let changes = swap_changes(&|uid| uid != "free", 7, &[swap("a", "b", false), swap("c", "free", true)]);
        assert_eq!(
            changes.unwrap(),
            [
                IndexChange::Swapped { one: "a".into(), other: "b".into(), task: 7 },
                IndexChange::SwappedIntoFree { from: "c".into(), to: "free".into(), task: 7 },
            ]
        );
    }
}
