//! Opening the database of a server whose options may leave open what it is.

use lamina_base::options::Options;
use lamina_base::outbound::Outbound;
use lamina_data::instance::{Instance, InstanceError};
use lamina_data::tasks::Store;
use lamina_engine::index::IndexOptions;
use lamina_replication::{AtStart, Role, role_at_start};

use super::ServeError;

/// Opens the database, and says what the server is.
pub(super) fn open_instance(
    options: &Options,
    index_options: IndexOptions,
    outbound: &Outbound,
) -> Result<(Instance, Store, AtStart), ServeError> {
    let (folder, upgrades) = (&options.service.db_path, options.service.upgrades());
    let at_start = |uid| {
        let at_start = role_at_start(options, outbound, folder, uid);
        at_start.map_err(|error| ServeError::Replication(error.to_string()))
    };
    match Instance::open(folder, index_options.clone(), upgrades) {
        Err(error @ InstanceError::OlderQueue { .. }) => match at_start(Instance::uid_in(folder)?)? {
            at_start @ AtStart { role: Role::Replica, is_sure: true } => {
                let (instance, store) = Instance::open_to_fetch(folder, index_options, upgrades)?;
                Ok((instance, store, at_start))
            }
            _ => Err(error.into()),
        },
        opened => {
            let (instance, store) = opened?;
            let at_start = at_start(instance.uid())?;
            Ok((instance, store, at_start))
        }
    }
}
