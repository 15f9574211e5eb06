//! The files of a static model, and what its small ones say.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokenizers::Tokenizer;
use tokenizers::models::ModelWrapper;

use crate::embedders::store::{
    CONFIG, Download, Layout, MODULES, SAFETENSORS, STATIC_SAFETENSORS, STATIC_TOKENIZER, TOKENIZER,
};

/// Longest file of settings, in bytes. They have some hundred.
const SETTINGS_BYTES_MAX: u64 = 1 << 20;
/// Longest tokenizer, in bytes: those of many languages have 20 to 35 MB. In memory it takes some times as much.
const TOKENIZER_BYTES_MAX: u64 = 64 << 20;

/// The files of a model that is there.
#[derive(Debug)]
pub(super) struct StaticFiles {
    pub(super) tokenizer: PathBuf,
    pub(super) weights: PathBuf,
    /// The settings of model2vec.
    config: Option<PathBuf>,
    /// The steps of sentence-transformers.
    modules: Option<PathBuf>,
}

/// Places of the files of a static model: beside each other, or the two large ones in a folder of their own.
pub(super) struct StaticLayout;

impl Layout for StaticLayout {
    type Files = StaticFiles;

    fn in_folder(&self, folder: &Path) -> Option<StaticFiles> {
        let file = |name: &str| Some(folder.join(name)).filter(|file| file.is_file());
        let both = |tokenizer: &str, weights: &str| Some((file(tokenizer)?, file(weights)?));
        let (tokenizer, weights) =
            both(TOKENIZER, SAFETENSORS).or_else(|| both(STATIC_TOKENIZER, STATIC_SAFETENSORS))?;
        Some(StaticFiles { tokenizer, weights, config: file(CONFIG), modules: file(MODULES) })
    }

    fn in_snapshot(&self, folder: &Path) -> Option<StaticFiles> {
        // One of them says whether vectors are normalised.
        self.in_folder(folder).filter(|files| files.config.is_some() || files.modules.is_some())
    }

    fn fetch(&self, download: &mut Download<'_>) -> Result<(), String> {
        let has_settings = [download.has(CONFIG)?, download.has(MODULES)?].contains(&true);
        if !has_settings {
            return Err(download.missing(CONFIG));
        }
        if download.has(TOKENIZER)? {
            return download.needs(SAFETENSORS);
        }
        download.needs(STATIC_TOKENIZER)?;
        download.needs(STATIC_SAFETENSORS)
    }
}

/// The settings of interest in `config.json`.
#[derive(Default, Deserialize)]
struct Config {
    #[serde(default)]
    normalize: bool,
}

/// A step of `modules.json`.
#[derive(Deserialize)]
struct Module {
    r#type: String,
}

impl StaticFiles {
    /// Reports whether the model makes vectors of length 1.
    ///
    /// # Errors
    /// The fault of the settings, also that they are those of a network.
    pub(super) fn normalizes(&self) -> Result<bool, String> {
        let config: Config =
            self.config.as_deref().map(|file| read_json(file, CONFIG)).transpose()?.unwrap_or_default();
        let modules: Vec<Module> =
            self.modules.as_deref().map(|file| read_json(file, MODULES)).transpose()?.unwrap_or_default();
        if let Some(first) = modules.first().filter(|first| !first.r#type.ends_with("StaticEmbedding")) {
            return Err(format!(
                "the first step in `{MODULES}` is `{}`, no `StaticEmbedding`: networks run with source `huggingFace`",
                first.r#type
            ));
        }
        Ok(config.normalize || modules.iter().any(|module| module.r#type.ends_with("Normalize")))
    }

    /// Returns the tokenizer, without cutting and padding, and its token for unknown words.
    ///
    /// # Errors
    /// The fault of the file.
    pub(super) fn tokenizer(&self) -> Result<(Tokenizer, Option<u32>), String> {
        let of_tokenizer = |reason: String| format!("`{TOKENIZER}`: {reason}");
        let bytes = read(&self.tokenizer, TOKENIZER_BYTES_MAX).map_err(of_tokenizer)?;
        let mut tokenizer = Tokenizer::from_bytes(&bytes).map_err(|error| of_tokenizer(error.to_string()))?;
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None).map_err(|error| of_tokenizer(error.to_string()))?;
        let named = match tokenizer.get_model() {
            ModelWrapper::WordPiece(model) => Some(model.unk_token.clone()),
            ModelWrapper::WordLevel(model) => Some(model.unk_token.clone()),
            ModelWrapper::BPE(model) => model.unk_token.clone(),
            ModelWrapper::Unigram(_) => None,
        };
        let unknown = match named {
            Some(token) => tokenizer.token_to_id(&token),
            None => serde_json::from_slice::<Unknown>(&bytes).ok().and_then(|unknown| unknown.model.unk_id),
        };
        Ok((tokenizer, unknown))
    }
}

/// The number of the unknown token, which models of kind Unigram keep for themselves.
#[derive(Deserialize)]
struct Unknown {
    model: UnknownOfModel,
}

#[derive(Deserialize)]
struct UnknownOfModel {
    unk_id: Option<u32>,
}

fn read_json<T: DeserializeOwned>(file: &Path, name: &str) -> Result<T, String> {
    let bytes = read(file, SETTINGS_BYTES_MAX).map_err(|reason| format!("`{name}`: {reason}"))?;
    serde_json::from_slice(&bytes).map_err(|error| format!("`{name}`: {error}"))
}

/// The content of a file that is not longer than it may be.
fn read(file: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    let opened = File::open(file).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    opened.take(bytes_max + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > bytes_max {
        return Err(format!("it has more than {bytes_max} bytes"));
    }
    Ok(bytes)
}
