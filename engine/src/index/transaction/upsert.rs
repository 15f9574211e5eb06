//! Takes a payload into the plan.

use super::super::error::{IndexError, OperationError};
use super::super::operation::{Outcome, Upsert};
use super::super::progress::Phase;
use super::payload::{PayloadBytes, piece_end};
use super::scan::{ScannedPiece, scan};
use super::threads::on_threads;
use super::write_plan::{UpsertRule, WritePlan};
use super::{Attempt, Transaction};
use crate::document::{InferError, infer_primary_key};

/// Payloads are scanned in pieces of about this size, one per thread at a time.
const PIECE_BYTES: usize = 4 << 20;
/// A plan is carried out when it takes more than this share of the memory.
const PLAN_MEMORY_DIVISOR: usize = 4;

impl Transaction<'_> {
    /// Plans the documents of a payload. Should one be unusable, a payload of one round of pieces was not planned yet;
    /// a longer one began with an empty plan, so that dropping the plan and returning to the state before undoes it.
    pub(super) fn upsert(&mut self, upsert: &Upsert) -> Attempt {
        let payload = PayloadBytes::open(&upsert.payload)?;
        let Some(first_line) = payload.first_line() else {
            return Ok(self.upsert_nothing(upsert));
        };
        let primary_key = match self.resolve_primary_key(upsert.primary_key.as_deref(), first_line)? {
            Ok(primary_key) => primary_key,
            Err(error) => return Ok(Err(error)),
        };
        let thread_count = self.resources.threads_for(payload.len() as u64);
        let round_bytes = PIECE_BYTES * thread_count;
        let is_long = payload.len() > round_bytes;
        if is_long || self.plan_is_full() {
            self.carry_out_plan()?;
        }
        let before = self.state.clone();
        let own_segments_start = u32::try_from(before.segments.len()).expect("few segments");
        let rule = UpsertRule { method: upsert.method, skip_creation: upsert.skip_creation, own_segments_start };
        self.state.primary_key = Some(primary_key.as_str().into());
        let (mut received, mut indexed) = (0, 0);
        let mut is_begun = false;
        let mut start = 0;
        self.resources.progress.enter(Phase::ReadingIds, payload.len() as u64);
        while start < payload.len() {
            if is_begun && self.plan_is_full() {
                self.carry_out_plan()?;
                is_begun = false;
                self.resources.progress.enter(Phase::ReadingIds, payload.len() as u64);
                self.resources.progress.advance(start as u64);
            }
            let (pieces, end) = match self.scan_round(&payload, start, thread_count, &primary_key)? {
                Ok(round) => round,
                Err(error) => {
                    if is_long {
                        self.plan = WritePlan::default();
                    }
                    self.state = before;
                    return Ok(Err(error));
                }
            };
            if !is_begun {
                self.plan.begin_upsert(payload.clone());
                is_begun = true;
            }
            for piece in &pieces {
                received += piece.lines.len() as u64;
                indexed += self.plan.upsert(piece, rule, &mut self.state.next_internal_id);
            }
            self.resources.progress.advance((end - start) as u64);
            start = end;
        }
        Ok(Ok(Outcome::Upserted { received, indexed }))
    }

    /// An empty payload sets the primary key that the request names, if any.
    fn upsert_nothing(&mut self, upsert: &Upsert) -> Result<Outcome, OperationError> {
        if let Some(named) = upsert.primary_key.as_deref() {
            match self.state.primary_key.as_deref() {
                Some(current) if current != named => {
                    return Err(OperationError::PrimaryKeyAlreadyExists { current: current.to_owned() });
                }
                Some(_) => {}
                None => {
                    self.state.primary_key = Some(named.into());
                    self.state.is_changed = true;
                }
            }
        }
        Ok(Outcome::Upserted { received: 0, indexed: 0 })
    }

    fn resolve_primary_key(
        &self,
        named: Option<&str>,
        first_line: &[u8],
    ) -> Result<Result<String, OperationError>, IndexError> {
        Ok(match (self.state.primary_key.as_deref(), named) {
            (Some(current), Some(named)) if current != named => {
                Err(OperationError::PrimaryKeyAlreadyExists { current: current.to_owned() })
            }
            (Some(key), _) | (None, Some(key)) => Ok(key.to_owned()),
            (None, None) => match infer_primary_key(first_line) {
                Ok(key) => Ok(key),
                Err(InferError::Document(error)) => return Err(error.into()),
                Err(error) => Err(error.into()),
            },
        })
    }

    /// Scans the next pieces, one per thread. Gives them in order, and where they end.
    fn scan_round(
        &self,
        payload: &PayloadBytes,
        start: usize,
        thread_count: usize,
        primary_key: &str,
    ) -> Result<Result<(Vec<ScannedPiece>, usize), OperationError>, IndexError> {
        let mut ranges = Vec::with_capacity(thread_count);
        let mut end = start;
        while ranges.len() < thread_count && end < payload.len() {
            let piece_start = end;
            end = piece_end(payload, piece_start, PIECE_BYTES);
            ranges.push(piece_start..end);
        }
        let pieces = on_threads(ranges.len(), |index| {
            scan(payload, ranges[index].clone(), primary_key, &self.state.segments, self.resources.cancelled)
        })?;
        // The error of the first piece is that of the first unusable document.
        Ok(pieces.into_iter().collect::<Result<Vec<_>, _>>().map(|pieces| (pieces, end)))
    }

    fn plan_is_full(&self) -> bool {
        self.plan.memory_bytes() > self.resources.memory_bytes / PLAN_MEMORY_DIVISOR
    }
}
