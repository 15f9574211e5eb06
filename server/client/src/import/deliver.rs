//! Sending a batch, in parts where a document is at fault: a broken line costs that line.

use super::ImportError;
use super::client::{Client, Sent};
use super::part::Part;
use super::split::Batch;

/// Number of faulty documents, with no valid one among them, after which batches are not split further. The input
/// is then most likely in another format.
const FAULTS_BEFORE_THE_FIRST: usize = 100;

/// Outcome of a batch, by its parts in order.
pub(super) struct Delivery {
    pub(super) sent: Vec<(Part, Batch, Sent)>,
    /// Parts that were not sent, and the reason.
    pub(super) stopped: Option<(Vec<Part>, ImportError)>,
}

/// Counts that decide whether the search for faulty documents continues.
#[derive(Default)]
pub(super) struct Faults {
    count: usize,
    has_right: bool,
}

impl Faults {
    pub(super) fn right(&mut self) {
        self.has_right = true;
    }

    pub(super) fn fault(&mut self) {
        self.count += 1;
    }

    pub(super) fn is_hopeless(&self) -> bool {
        self.count >= FAULTS_BEFORE_THE_FIRST && !self.has_right
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }
}

/// Sends `batch` until the server takes or refuses it. Of one that is refused for what it holds, the halves are sent, down to
/// single documents: about twice the bytes and two requests for each halving that a document at fault takes.
pub(super) async fn deliver(client: &Client, part: Part, batch: Batch) -> Delivery {
    let mut delivery = Delivery { sent: Vec::new(), stopped: None };
    let mut faults = Faults::default();
    let mut open = vec![batch];
    while let Some(batch) = open.pop() {
        match client.send(&batch).await {
            Ok(Sent::Rejected { message }) => match batch.halves().filter(|_| !faults.is_hopeless()) {
                Some((first, second)) => open.extend([second, first]),
                None => {
                    faults.fault();
                    delivery.sent.push((part.of(&batch), batch, Sent::Rejected { message }));
                }
            },
            Ok(accepted) => {
                faults.right();
                delivery.sent.push((part.of(&batch), batch, accepted));
            }
            Err(error) => {
                let rest = open.iter().rev().map(|batch| part.of(batch));
                let parts = [part.of(&batch)].into_iter().chain(rest).collect();
                delivery.stopped = Some((parts, error));
                break;
            }
        }
    }
    delivery
}
