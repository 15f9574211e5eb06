//! Opening the database of a server whose options may leave open what it is.

use lamina_engine::index::IndexOptions;

use super::ServeError;
use crate::instance::{Instance, InstanceError};
use crate::options::Options;
use crate::outbound::Outbound;
use crate::replication::{Role, role_at_start};
use crate::tasks::Store;

/// Opens the database, and says what the server is.
pub(super) fn open_instance(
    options: &Options,
    index_options: IndexOptions,
    outbound: &Outbound,
) -> Result<(Instance, Store, Role), ServeError> {
    let (folder, upgrades) = (&options.service.db_path, options.service.upgrades());
    let role = |uid| {
        let role = role_at_start(options, outbound, folder, uid);
        role.map_err(|error| ServeError::Replication(error.to_string()))
    };
    match Instance::open(folder, index_options.clone(), upgrades) {
        Err(error @ InstanceError::OlderQueue { .. }) => match role(Instance::uid_in(folder)?)? {
            Role::Replica => {
                let (instance, store) = Instance::open_to_fetch(folder, index_options, upgrades)?;
                Ok((instance, store, Role::Replica))
            }
            _ => Err(error.into()),
        },
        opened => {
            let (instance, store) = opened?;
            let role = role(instance.uid())?;
            Ok((instance, store, role))
        }
    }
}
