//! A bucket of an S3-compatible store.

use std::sync::Arc;

use lamina_base::options::ObjectStorageOptions;
use lamina_base::outbound::{Outbound, parse_url};
use lamina_base::secret::shown_url;
use object_store::StaticCredentialProvider;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, AwsCredential, AwsCredentialProvider};
use tokio::sync::Mutex;

use super::StorageError;
use super::account::Role;
use super::guarded::{Guarded, client_options, no_retries};
use super::library::Library;

/// The bucket `name` of the store that the options name.
///
/// # Errors
/// [`StorageError::Parameters`]
pub(super) fn open(name: &str, options: &ObjectStorageOptions, outbound: &Outbound) -> Result<Library, StorageError> {
    let missing = || StorageError::Parameters("`--s3-bucket-url` is missing".to_owned());
    let url = options.s3_bucket_url.as_deref().ok_or_else(missing)?;
    let checked = |url: &str| {
        parse_url(url).map_err(|reason| StorageError::Parameters(format!("`{}`: {reason}", shown_url(url))))
    };
    let parsed = checked(url)?;
    let endpoint = format!("{}{}", parsed.origin().ascii_serialization(), parsed.path().trim_end_matches('/'));
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let region = text(&options.s3_bucket_region);
    let credentials: AwsCredentialProvider =
        match (&options.experimental_s3_role_arn, &options.experimental_s3_web_identity_token_file) {
            (Some(arn), Some(token_file)) => {
                let given = options.s3_sts_url.clone();
                let url = given.unwrap_or_else(|| format!("https://sts.{region}.amazonaws.com/"));
                checked(&url)?;
                let (arn, token_file) = (arn.clone(), token_file.clone());
                Arc::new(Role { outbound: outbound.clone(), arn, token_file, url, current: Mutex::new(None) })
            }
            _ => Arc::new(StaticCredentialProvider::new(AwsCredential {
                key_id: text(&options.s3_access_key),
                secret_key: text(&options.s3_secret_key),
                token: options.s3_session_token.clone(),
            })),
        };
    let store = AmazonS3Builder::new()
        .with_endpoint(endpoint)
        .with_bucket_name(name)
        .with_region(region)
        .with_credentials(credentials)
        // Some stores only take requests that remove one object.
        .with_config(AmazonS3ConfigKey::DisableBulkDelete, "true")
        .with_client_options(client_options())
        .with_retry(no_retries())
        .with_http_connector(Guarded { outbound: outbound.clone(), exists_code: "" })
        .build()
        .map_err(|error| StorageError::Parameters(error.to_string()))?;
    Ok(Library { store: Arc::new(store), has_offsets: true })
}
