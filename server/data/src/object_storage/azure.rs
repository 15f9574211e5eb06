//! A container of Azure Blob Storage.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lamina_base::options::CloudOptions;
use lamina_base::outbound::{Outbound, parse_url};
use lamina_base::secret::shown_url;
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};

use super::StorageError;
use super::guarded::{Guarded, client_options, no_retries};
use super::library::Library;

/// The container `name` of the account that the options name.
///
/// # Errors
/// [`StorageError::Options`]
pub(super) fn open(name: &str, options: &CloudOptions, outbound: &Outbound) -> Result<Library, StorageError> {
    let missing = |what: &str| StorageError::Options(what.to_owned());
    let account = options.azure_account.clone();
    let account = account.ok_or_else(|| missing("`--azure-account` is missing (or AZURE_STORAGE_ACCOUNT_NAME)"))?;
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if account.is_empty() || !account.bytes().all(is_name) {
        return Err(missing("`--azure-account`: only lower-case letters and digits"));
    }
    let builder = match (&options.azure_access_key, &options.azure_sas_token) {
        (Some(key), _) => {
            let key = key.trim();
            STANDARD.decode(key).map_err(|_| missing("`--azure-access-key` is not base64"))?;
            MicrosoftAzureBuilder::new().with_access_key(key)
        }
        (None, Some(token)) => MicrosoftAzureBuilder::new().with_config(AzureConfigKey::SasKey, token.trim()),
        (None, None) => {
            let text = "`--azure-access-key` is missing (or AZURE_STORAGE_ACCOUNT_KEY), or `--azure-sas-token`";
            return Err(missing(text));
        }
    };
    let url = options.azure_url.clone().unwrap_or_else(|| format!("https://{account}.blob.core.windows.net"));
    let parsed = parse_url(&url)
        .map_err(|reason| StorageError::Options(format!("`--azure-url {}`: {reason}", shown_url(&url))))?;
    let endpoint = format!("{}{}", parsed.origin().ascii_serialization(), parsed.path().trim_end_matches('/'));
    let store = builder
        .with_account(account)
        .with_endpoint(endpoint)
        .with_container_name(name)
        .with_client_options(client_options())
        .with_retry(no_retries())
        .with_http_connector(Guarded { outbound: outbound.clone(), exists_code: "BlobAlreadyExists" })
        .build()
        .map_err(|error| StorageError::Options(error.to_string()))?;
    Ok(Library { store: Arc::new(store), has_offsets: false })
}

#[cfg(test)]
mod tests {
    use lamina_base::outbound::IpPolicy;

    use super::*;

    fn options() -> CloudOptions {
        CloudOptions {
            azure_account: Some("myaccount".to_owned()),
            azure_access_key: Some("a2V5".to_owned()),
            ..CloudOptions::default()
        }
    }

    fn refusal(options: &CloudOptions, outbound: &Outbound) -> String {
        open("c", options, outbound).unwrap_err().to_string()
    }

    #[tokio::test]
    async fn what_is_missing_or_wrong_is_named_by_its_option() {
        let outbound = Outbound::new(IpPolicy::Any).unwrap();
        let no_account = CloudOptions { azure_account: None, ..options() };
        assert!(refusal(&no_account, &outbound).starts_with("`--azure-account` is missing"));
        let bad_account = CloudOptions { azure_account: Some("My/account".to_owned()), ..options() };
        assert!(refusal(&bad_account, &outbound).starts_with("`--azure-account`: "));
        let no_key = CloudOptions { azure_access_key: None, ..options() };
        assert!(refusal(&no_key, &outbound).starts_with("`--azure-access-key` is missing"));
        let bad_key = CloudOptions { azure_access_key: Some("-".to_owned()), ..options() };
        assert!(refusal(&bad_key, &outbound).starts_with("`--azure-access-key` is not base64"));
        let bad_url = CloudOptions { azure_url: Some("ftp://a".to_owned()), ..options() };
        assert!(refusal(&bad_url, &outbound).starts_with("`--azure-url ftp://a`: "));
        open("c", &options(), &outbound).unwrap();
    }
}
