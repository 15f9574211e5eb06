//! The indexes: their checksums and, when asked for, the structure of their segments.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use lamina_base::error::ApiError;
use lamina_base::options::human_size;
use lamina_base::plural::counted;
use lamina_data::instance::Instance;
use lamina_engine::index::{VerifyWatch, verify_folder};

use super::Findings;

/// Checks all.
pub(super) fn verify_all(instance: &Instance, deep: bool, findings: &mut Findings) {
    let folders = instance.folders().into_iter().map(|(uid, folder)| (uid, instance.index_folder(&folder)));
    // An index has no such name.
    let events = instance.events().index_folder().map(|folder| ("events/".to_owned(), folder));
    for (uid, folder) in folders.chain(events) {
        let shown = Shown::new(&uid);
        let verified = verify_folder(&folder, deep, &shown);
        shown.bar.finish_and_clear();
        let (damages, found) = match verified {
            Ok(verified) => {
                let (bytes, segments) =
                    (human_size(verified.segment_bytes), counted(verified.segment_count, "segment"));
                (verified.damages, format!("{bytes} in {segments}, sound"))
            }
            Err(error) => (vec![error], String::new()),
        };
        if damages.is_empty() {
            findings.all_right(&uid, found);
        }
        damages.into_iter().for_each(|error| findings.damage(&uid, ApiError::from(error).message));
    }
}

/// A bar on a terminal, nothing elsewhere.
struct Shown {
    bar: ProgressBar,
}

impl Shown {
    fn new(uid: &str) -> Shown {
        if !std::io::stderr().is_terminal() {
            return Shown { bar: ProgressBar::hidden() };
        }
        let style = ProgressStyle::with_template("{msg}: {bar:30} {percent:>3}%  {binary_bytes_per_sec}, {eta} left");
        let bar = ProgressBar::new(0).with_style(style.expect("the template is a constant and valid"));
        bar.set_message(uid.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        Shown { bar }
    }
}

impl VerifyWatch for Shown {
    fn begin(&self, bytes: u64) {
        self.bar.set_length(bytes);
    }

    fn advance(&self, bytes: u64) {
        self.bar.inc(bytes);
    }
}
