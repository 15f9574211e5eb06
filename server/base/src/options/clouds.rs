//! Stores of Google and Microsoft, for `gs://` and `az://`.

use std::path::PathBuf;

use clap::Args;

/// Options of stores that do not speak the S3 protocol. Missing values come from the environment variables that the
/// tools of these stores read.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Google Cloud Storage and Azure Blob Storage")]
pub struct CloudOptions {
    /// Address for `gs://`, if it is not that of Google, as of an emulator. If it begins with `http://` and no credentials are
    /// set, requests carry none.
    #[arg(long, value_name = "URL")]
    pub gcs_url: Option<String>,

    /// File with the key of a service account, as JSON. Without it, the file that `GOOGLE_APPLICATION_CREDENTIALS`
    /// names, or else the account of the machine. Its metadata service needs `--experimental-allowed-ip-networks`.
    #[arg(long, value_name = "FILE")]
    pub gcs_credentials_file: Option<PathBuf>,

    /// Address of Azure Blob Storage for `az://`, without the container. By default that of the account.
    #[arg(long, value_name = "URL")]
    pub azure_url: Option<String>,

    /// Storage account. Without it, the value of `AZURE_STORAGE_ACCOUNT_NAME` or `AZURE_STORAGE_ACCOUNT`.
    #[arg(long, value_name = "NAME")]
    pub azure_account: Option<String>,

    /// Key of the storage account. Without it, the value of `AZURE_STORAGE_ACCOUNT_KEY` or `AZURE_STORAGE_KEY`.
    #[arg(long, value_name = "KEY", hide_env_values = true, conflicts_with = "azure_sas_token")]
    pub azure_access_key: Option<String>,

    /// Shared access signature, instead of a key. Without it, the value of `AZURE_STORAGE_SAS_TOKEN`.
    #[arg(long, value_name = "TOKEN", hide_env_values = true)]
    pub azure_sas_token: Option<String>,
}

/// The first of these variables that is set to something.
fn variable(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

impl CloudOptions {
    /// With what the usual variables say, where nothing is given. A given key is not joined by a signature of the environment.
    #[must_use]
    pub fn with_variables(&self) -> CloudOptions {
        let given = self.clone();
        let has_access = given.azure_access_key.is_some() || given.azure_sas_token.is_some();
        let access = |names: &[&str]| if has_access { None } else { variable(names) };
        CloudOptions {
            gcs_credentials_file: given
                .gcs_credentials_file
                .or_else(|| variable(&["GOOGLE_APPLICATION_CREDENTIALS"]).map(PathBuf::from)),
            azure_account: given
                .azure_account
                .or_else(|| variable(&["AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"])),
            azure_access_key: given
                .azure_access_key
                .or_else(|| access(&["AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_KEY"])),
            azure_sas_token: given.azure_sas_token.or_else(|| access(&["AZURE_STORAGE_SAS_TOKEN"])),
            ..given
        }
    }

    /// Values that are secrets.
    pub fn secrets(&self) -> impl Iterator<Item = &String> {
        self.azure_access_key.iter().chain(&self.azure_sas_token)
    }
}
