//! The progress bar: documents that are searchable, documents per second, time left.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressStyle};
use lamina_base::console;

const PLAIN_LINE_EVERY: Duration = Duration::from_secs(5);

/// On a terminal a bar; elsewhere a plain line every few seconds; nothing when quiet.
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    plain: bool,
    last_line: Instant,
    start: Instant,
    total_bytes: Option<u64>,
    done_bytes: u64,
    sent_documents: u64,
    done_documents: u64,
}

impl Progress {
    /// `total_bytes` of the input as it is on the disk, when known.
    pub(super) fn new(total_bytes: Option<u64>, quiet: bool) -> Progress {
        let terminal = std::io::stderr().is_terminal();
        let bar = (terminal && !quiet).then(|| match total_bytes {
            Some(total) => ProgressBar::new(total).with_style(style("{bar:12} {percent:>3}%  {msg}")),
            None => ProgressBar::new_spinner().with_style(style("{spinner} {msg}")),
        });
        if let Some(bar) = &bar {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        let start = Instant::now();
        Progress {
            bar,
            plain: !terminal && !quiet,
            last_line: start,
            start,
            total_bytes,
            done_bytes: 0,
            sent_documents: 0,
            done_documents: 0,
        }
    }

    pub(super) fn sent(&mut self, documents: u64) {
        self.sent_documents += documents;
        self.show();
    }

    /// A request is through: its task ended, or it was refused. `bytes` is its share of the input.
    pub(super) fn done(&mut self, documents: u64, bytes: u64) {
        self.done_documents += documents;
        self.done_bytes += bytes;
        self.show();
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn show(&mut self) {
        let message = self.message();
        if let Some(bar) = &self.bar {
            bar.set_position(self.done_bytes);
            bar.set_message(message);
        } else if self.plain && self.last_line.elapsed() >= PLAIN_LINE_EVERY {
            self.last_line = Instant::now();
            console::line(format_args!("{message}"));
        }
    }

    fn message(&self) -> String {
        let seconds = self.start.elapsed().as_secs_f64();
        let rate = (self.done_documents as f64 / seconds.max(0.001)) as u64;
        let left = time_left(self.done_bytes, self.total_bytes, seconds);
        message(self.done_documents, self.sent_documents, rate, left)
    }
}

/// With the bar, no longer than a line of 80 characters.
fn message(searchable: u64, sent: u64, rate: u64, left: Option<Duration>) -> String {
    let (searchable, sent, rate) = (HumanCount(searchable), HumanCount(sent), HumanCount(rate));
    let left = left.map_or_else(String::new, |left| format!(", {:#} left", HumanDuration(left)));
    format!("{searchable} searchable of {sent}, {rate}/s{left}")
}

fn time_left(done_bytes: u64, total_bytes: Option<u64>, seconds: f64) -> Option<Duration> {
    let total = total_bytes?;
    if done_bytes == 0 {
        return None;
    }
    let left = total.saturating_sub(done_bytes) as f64;
    Some(Duration::from_secs_f64((seconds * left / done_bytes as f64).min(1e9)))
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is a constant and valid")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_a_terminal() {
        let longest = message(999_999_999, 999_999_999, 999_999, Some(Duration::from_secs(59 * 60)));
        let bar = 12 + " 100%  ".len();
        assert!(bar + longest.chars().count() <= 80, "{longest}");
    }

    #[test]
    fn time_left_follows_the_bytes() {
        assert_eq!(time_left(25, Some(100), 10.0), Some(Duration::from_secs(30)));
        assert_eq!(time_left(100, Some(100), 10.0), Some(Duration::ZERO));
        // A compressed file grows while it is read: never negative.
        assert_eq!(time_left(120, Some(100), 10.0), Some(Duration::ZERO));
        assert_eq!(time_left(0, Some(100), 10.0), None);
        assert_eq!(time_left(10, None, 10.0), None);
    }
}
