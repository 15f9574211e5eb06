//! Batches that make an index of the files of another one, or of those that `lamina build` has made.

use std::path::Path;

use lamina_base::error::ApiResult;
use lamina_data::tasks::store::IndexChange;

use super::indexes::{already_exists, check_no_alias};
use super::record::Record;
use super::{Context, Done, failed, succeeded};
use crate::work::backup::{Attached, fetch_attached};

/// No document is read or written, whatever the size of the index.
pub(super) fn clone(context: Context<'_>, uid: &str, task: u32, new_uid: &str) -> Done {
    match try_clone(context, uid, task, new_uid) {
        Ok(done) => done,
        Err(error) => context.stored_only(&[failed(task, &error)], &[]),
    }
}

fn try_clone(context: Context<'_>, uid: &str, task: u32, new_uid: &str) -> ApiResult<Done> {
    let source = context.instance.index(uid)?;
    if context.instance.contains(new_uid) {
        return Err(already_exists(new_uid));
    }
    check_no_alias(context, new_uid)?;
    let (folder, index) = context.instance.clone_unnamed(context.store, &source, new_uid, context.live.uid)?;
    let changes = [IndexChange::Created { uid: new_uid.to_owned(), folder: folder.clone() }];
    let batch = Record::new(context.live).finish(&[succeeded(task, None)], &changes);
    Ok(Done { created: vec![(folder, index)], ..Done::from(batch) })
}

/// The index gets links to the files, which stay where they are.
pub(super) fn attach(context: Context<'_>, uid: &str, task: u32, folder: &str) -> Option<Done> {
    try_attach(context, uid, task, folder)
        .unwrap_or_else(|error| Some(context.stored_only(&[failed(task, &error)], &[])))
}

/// Nothing where the batch was canceled.
fn try_attach(context: Context<'_>, uid: &str, task: u32, name: &str) -> ApiResult<Option<Done>> {
    if context.instance.contains(uid) {
        return Err(already_exists(uid));
    }
    check_no_alias(context, uid)?;
    let Context { instance, store, live, .. } = context;
    let record = Record::new(live);
    let attach = |path: &Path| instance.attach_unnamed(store, path, name, uid, live.uid);
    let (folder, index) = match &context.places.attached {
        Attached::Folder(folder) => attach(&folder.join(name))?,
        Attached::Store(built) => match fetch_attached(built, name, (instance, store), live)? {
            Some(fetched) => attach(&fetched.path())?,
            None => return Ok(None),
        },
    };
    let changes = [IndexChange::Created { uid: uid.to_owned(), folder: folder.clone() }];
    let batch = record.finish(&[succeeded(task, None)], &changes);
    Ok(Some(Done { created: vec![(folder, index)], ..Done::from(batch) }))
}
