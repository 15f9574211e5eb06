//! Getting a model from a hub: all of its files, or none.
//!
//! A hub is one kind of URL, `<hub>/<model>/resolve/<revision>/<file>`, and what it says beside the bytes: which commit a
//! revision names (`X-Repo-Commit`), and which version of a file it sends (`ETag`; for large files their SHA-256). A branch
//! that moves in between, a connection that breaks and a server that stops therefore leave no model made of two: files come
//! from one commit, gather in a folder of their own, and a large one goes on where it broke off if it is still the same.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use aws_lc_rs::digest;
use lamina_base::backoff::{Backoff, DOWNLOAD};
use lamina_base::cancellation::{CHECK_INTERVAL, unless_cancelled};
use lamina_base::outbound::Outbound;
use lamina_base::secret::shown_url;
use reqwest::header::{CONTENT_RANGE, ETAG, HeaderMap, IF_RANGE, RANGE};
use reqwest::{Method, Response};

/// Longest file of weights, in bytes. Small models have a tenth of a gigabyte, large ones two.
const FILE_BYTES_MAX: u64 = 8 << 30;
/// Longest file of JSON: tokenizers of many languages have 20 to 35 MB.
const JSON_BYTES_MAX: u64 = 64 << 20;
/// Maximum time of one try.
const DOWNLOAD_TIME: Duration = Duration::from_secs(60 * 60);
/// Names the commit that a revision stands for.
const COMMIT_HEADER: &str = "x-repo-commit";
/// The version of a file that is kept elsewhere.
const LINKED_ETAG_HEADER: &str = "x-linked-etag";

/// Source of models.
#[derive(Debug)]
pub(super) struct Hub {
    /// Without a slash at the end.
    url: String,
    token: Option<String>,
    outbound: Outbound,
    /// Pauses between tries in a row that bring nothing new.
    pauses: Backoff,
    stopped: AtomicBool,
}

/// Outcome of the request for a file.
enum Fetched {
    /// The model is there; which commit it is from, as far as the hub says.
    Found(Option<String>),
    Missing,
}

/// Reason why a try brought no file.
struct Trouble {
    reason: String,
    /// Another try may do better.
    is_passing: bool,
}

impl Trouble {
    fn passing(reason: impl Into<String>) -> Trouble {
        Trouble { reason: reason.into(), is_passing: true }
    }

    fn lasting(reason: impl Into<String>) -> Trouble {
        Trouble { reason: reason.into(), is_passing: false }
    }
}

impl Hub {
    pub(super) fn new(url: &str, token: Option<String>, outbound: Outbound) -> Hub {
        Hub {
            url: url.trim_end_matches('/').to_owned(),
            token,
            outbound,
            pauses: DOWNLOAD,
            stopped: AtomicBool::new(false),
        }
    }

    /// Gives up all requests, those to come too.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// For people: without a password.
    pub(super) fn url(&self) -> String {
        shown_url(&self.url)
    }

    /// Puts the files of a model into `folder`: those that `fetch` asks for. Blocks, for minutes when they are large.
    ///
    /// # Errors
    /// Why it can't be had, for people. What was downloaded until then stays for the next call.
    pub(super) fn download(
        &self,
        model: &str,
        revision: &str,
        folder: &Path,
        fetch: impl FnOnce(&mut Download<'_>) -> Result<(), String>,
        cancelled: &AtomicBool,
    ) -> Result<(), String> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        // No model and no revision has a name that begins like this.
        let unfinished = folder.with_file_name(format!(".{name}"));
        let of_model = format!("{}/{model}/resolve", self.url);
        let source = format!("{of_model}/{}", revision.replace('/', "%2F"));
        let mut download = Download {
            hub: self,
            revision,
            of_model,
            source,
            is_pinned: false,
            unfinished: &unfinished,
            found: Vec::new(),
            cancelled,
        };
        fetch(&mut download)?;
        let put = |name: &&str| {
            let to = folder.join(name);
            fs::create_dir_all(to.parent().unwrap_or(folder))?;
            fs::rename(unfinished.join(name), to)
        };
        download.found.iter().try_for_each(put).map_err(|error| format!("{}: {error}", folder.display()))?;
        // Nothing of worth is left in it.
        let _ = fs::remove_dir_all(&unfinished);
        Ok(())
    }

    fn fetch(&self, url: &str, to: &Path, cancelled: &AtomicBool) -> Result<Fetched, String> {
        let part = Part::of(to).map_err(|error| format!("{}: {error}", to.display()))?;
        let (mut pauses, mut furthest) = (self.pauses.clone(), part.length());
        loop {
            if self.stopped.load(Ordering::Relaxed) {
                // Nothing carries out requests any more.
                return Err("the server stops".to_owned());
            }
            let work = unless_cancelled(cancelled, self.try_fetch(url, &part, to));
            let trouble = match self.outbound.runtime().block_on(unless_cancelled(&self.stopped, work)) {
                Some(Some(Ok(fetched))) => return Ok(fetched),
                Some(Some(Err(trouble))) => trouble,
                Some(None) | None => return Err("cancelled".to_owned()),
            };
            let next = if part.length() > furthest {
                (pauses, furthest) = (self.pauses.clone(), part.length());
                Some(pauses.next_pause())
            } else {
                pauses.next()
            };
            let Some(pause) = next.filter(|_| trouble.is_passing) else { return Err(trouble.reason) };
            tracing::info!(reason = trouble.reason, file = %to.display(), "a download was interrupted and continues");
            let until = Instant::now() + pause;
            while Instant::now() < until && !self.stopped.load(Ordering::Relaxed) {
                std::thread::sleep(CHECK_INTERVAL.min(pause));
            }
        }
    }

    async fn try_fetch(&self, url: &str, part: &Part, to: &Path) -> Result<Fetched, Trouble> {
        let request = self.outbound.request(Method::GET, url).map_err(|error| Trouble::lasting(error.to_string()))?;
        let mut request = request.timeout(DOWNLOAD_TIME);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let so_far = part.length();
        if let Some(etag) = part.etag().filter(|_| so_far > 0) {
            request = request.header(RANGE, format!("bytes={so_far}-")).header(IF_RANGE, etag);
        }
        let sent = self.outbound.follow(request).await;
        let mut answer =
            sent.map_err(|error| Trouble { is_passing: error.is_transient(), reason: error.to_string() })?;
        let local = |error: io::Error| Trouble::lasting(format!("{}: {error}", to.display()));
        let (mut file, mut length) = match answer.status().as_u16() {
            200 => (part.start(answer.headers()).map_err(local)?, 0),
            206 if starts_at(answer.headers(), so_far) => (part.go_on().map_err(local)?, so_far),
            // What is here does not fit what is there.
            206 | 416 => {
                part.forget().map_err(local)?;
                return Err(Trouble::passing("it answered with another part of the file"));
            }
            404 => return Ok(Fetched::Missing),
            status @ (401 | 403) => {
                let hint = "the model does not exist, or needs a key (`HF_TOKEN`) that may read it";
                return Err(Trouble::lasting(format!("it answered HTTP {status}: {hint}")));
            }
            status => {
                let is_passing = status == 429 || status >= 500;
                return Err(Trouble { reason: format!("it answered HTTP {status}"), is_passing });
            }
        };
        let expected = answer.content_length().map(|rest| length + rest);
        let bytes_max = bytes_max(to);
        while let Some(piece) = piece(&mut answer).await? {
            length += piece.len() as u64;
            if length > bytes_max {
                return Err(Trouble::lasting(format!("a file has more than {bytes_max} bytes")));
            }
            file.write_all(&piece).map_err(local)?;
        }
        if expected.is_some_and(|expected| length != expected) {
            return Err(Trouble::passing("the connection broke off"));
        }
        file.sync_all().map_err(local)?;
        if let Some(expected) = sha256_of(answer.headers())
            && sha256(&part.file).map_err(local)? != expected
        {
            part.forget().map_err(local)?;
            return Err(Trouble::passing(format!("what came for {} is not what the hub has", shown_url(url))));
        }
        part.finish(to).map_err(local)?;
        let commit = answer.headers().get(COMMIT_HEADER).and_then(|commit| commit.to_str().ok());
        Ok(Fetched::Found(commit.filter(|commit| is_commit(commit)).map(str::to_owned)))
    }
}

/// The files of one model on their way.
pub(in crate::embedders) struct Download<'a> {
    hub: &'a Hub,
    revision: &'a str,
    /// Without a slash at the end.
    of_model: String,
    source: String,
    /// The source is one commit, or the hub names none.
    is_pinned: bool,
    unfinished: &'a Path,
    found: Vec<&'static str>,
    cancelled: &'a AtomicBool,
}

impl Download<'_> {
    /// Fetches a file, if the model has it. The first one decides which commit the others are of.
    ///
    /// # Errors
    /// Why it can't be had, for people.
    pub(in crate::embedders) fn has(&mut self, name: &'static str) -> Result<bool, String> {
        let url = format!("{}/{name}", self.source);
        let Fetched::Found(commit) = self.hub.fetch(&url, &self.unfinished.join(name), self.cancelled)? else {
            return Ok(false);
        };
        if let Some(commit) = commit.filter(|_| !self.is_pinned) {
            self.source = format!("{}/{commit}", self.of_model);
        }
        self.is_pinned = true;
        self.found.push(name);
        Ok(true)
    }

    /// Works like [`Self::has`], for a file that every such model has.
    ///
    /// # Errors
    /// Also that there is none.
    pub(in crate::embedders) fn needs(&mut self, name: &'static str) -> Result<(), String> {
        if self.has(name)? { Ok(()) } else { Err(self.missing(name)) }
    }

    /// Says that a file is missing.
    pub(in crate::embedders) fn missing(&self, name: &str) -> String {
        format!("it has no `{name}` in revision `{}`", self.revision)
    }
}

/// The longest file that is taken: what is parsed has to fit the memory several times.
fn bytes_max(file: &Path) -> u64 {
    if file.extension().is_some_and(|extension| extension == "json") { JSON_BYTES_MAX } else { FILE_BYTES_MAX }
}

async fn piece(answer: &mut Response) -> Result<Option<bytes::Bytes>, Trouble> {
    answer.chunk().await.map_err(|error| Trouble::passing(error.without_url().to_string()))
}

/// Reports whether a partial response begins at `start`.
fn starts_at(headers: &HeaderMap, start: u64) -> bool {
    let range = headers.get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
    range.is_some_and(|range| range.starts_with(&format!("bytes {start}-")))
}

/// Reports whether `name` is the full hash of a commit.
pub(super) fn is_commit(name: &str) -> bool {
    name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The SHA-256 of the whole file, where the hub gives its version by that.
fn sha256_of(headers: &HeaderMap) -> Option<String> {
    let tag = headers.get(LINKED_ETAG_HEADER).or_else(|| headers.get(ETAG))?.to_str().ok()?.trim_matches('"');
    (tag.len() == 64 && tag.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| tag.to_ascii_lowercase())
}

fn sha256(file: &Path) -> io::Result<String> {
    let (mut file, mut context) = (File::open(file)?, digest::Context::new(&digest::SHA256));
    let mut piece = vec![0; 1 << 20];
    loop {
        match file.read(&mut piece)? {
            0 => break,
            length => context.update(&piece[..length]),
        }
    }
    Ok(context.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A file on its way.
struct Part {
    file: PathBuf,
    /// Holds the version of what is there already.
    etag: PathBuf,
}

impl Part {
    fn of(to: &Path) -> io::Result<Part> {
        fs::create_dir_all(to.parent().unwrap_or(to))?;
        let beside = |ending: &str| {
            let mut name = to.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        Ok(Part { file: beside(".part"), etag: beside(".etag") })
    }

    /// Bytes that are there.
    fn length(&self) -> u64 {
        fs::metadata(&self.file).map_or(0, |file| file.len())
    }

    fn etag(&self) -> Option<String> {
        fs::read_to_string(&self.etag).ok()
    }

    /// Begins anew.
    fn start(&self, headers: &HeaderMap) -> io::Result<File> {
        self.forget()?;
        let etag = headers.get(ETAG).and_then(|etag| etag.to_str().ok());
        // Weak ones may name other bytes too.
        if let Some(etag) = etag.filter(|etag| etag.starts_with('"')) {
            fs::write(&self.etag, etag)?;
        }
        File::create(&self.file)
    }

    fn go_on(&self) -> io::Result<File> {
        OpenOptions::new().append(true).open(&self.file)
    }

    fn forget(&self) -> io::Result<()> {
        [&self.file, &self.etag].into_iter().try_for_each(|file| match fs::remove_file(file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        })
    }

    fn finish(&self, to: &Path) -> io::Result<()> {
        fs::rename(&self.file, to)?;
        self.forget()
    }
}

#[cfg(test)]
mod tests;
