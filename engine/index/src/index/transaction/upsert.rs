//! Takes a payload into the plan.

use lamina_segment::document::{InferError, infer_primary_key};

use super::super::error::{IndexError, OperationError};
use super::super::operation::{Outcome, Upsert};
use super::super::progress::Phase;
use super::payload::{PayloadBytes, piece_end};
use super::scan::{ScannedPiece, scan};
use super::threads::on_threads;
use super::write_plan::{UpsertRule, WritePlan};
use super::{Attempt, Transaction};

/// Payloads are scanned in pieces of about this size, one per thread at a time; smaller ones when memory is short.
const PIECE_BYTES_MAX: usize = 4 << 20;
const PIECE_BYTES_MIN: usize = 64 << 10;
const PIECE_MEMORY_DIVISOR: usize = 64;
/// Ids, and a plan before it is carried out, take at most one part in this many of the memory.
const PLAN_MEMORY_DIVISOR: usize = 4;

/// The ids of a payload.
enum Scan {
    Whole(Vec<ScannedPiece>),
    /// The texts would take more memory than there is for them.
    TooLong,
}

impl Transaction<'_> {
    /// Plans the documents of a payload, or nothing of it when one is unusable.
    pub(super) fn upsert(&mut self, upsert: &Upsert) -> Attempt {
        let payload = PayloadBytes::open(&upsert.payload)?;
        let Some(first_line) = payload.first_line() else {
            return Ok(self.upsert_nothing(upsert));
        };
        let primary_key = match self.resolve_primary_key(upsert.primary_key.as_deref(), first_line)? {
            Ok(primary_key) => primary_key,
            Err(error) => return Ok(Err(error)),
        };
        if self.plan.memory_bytes() > self.plan_memory_bytes() {
            self.carry_out_plan()?;
        }
        let pieces = match self.scan_whole(&payload, &primary_key)? {
            Ok(Scan::Whole(pieces)) => pieces,
            Ok(Scan::TooLong) => return self.upsert_in_parts(upsert, &payload, &primary_key),
            Err(error) => return Ok(Err(error)),
        };
        let rule = self.rule(upsert);
        self.state.primary_key = Some(primary_key.into());
        self.plan.begin_upsert(payload);
        let (mut received, mut indexed) = (0, 0);
        for piece in pieces {
            received += piece.lines.len() as u64;
            indexed += self.plan.upsert(&piece, rule, &mut self.state.next_internal_id);
        }
        Ok(Ok(Outcome::Upserted { received, indexed }))
    }

    fn rule(&self, upsert: &Upsert) -> UpsertRule {
        let own_segments_start = u32::try_from(self.state.segments.len()).expect("few segments");
        UpsertRule { method: upsert.method, skip_creation: upsert.skip_creation, own_segments_start }
    }

    fn scan_whole(
        &self,
        payload: &PayloadBytes,
        primary_key: &str,
    ) -> Result<Result<Scan, OperationError>, IndexError> {
        self.resources.progress.enter(Phase::ReadingIds, payload.len() as u64);
        let mut pieces = Vec::new();
        let (mut start, mut memory_bytes) = (0, 0);
        while start < payload.len() {
            let (round, end) = match self.scan_round(payload, start, primary_key)? {
                Ok(round) => round,
                Err(error) => return Ok(Err(error)),
            };
            memory_bytes += round.iter().map(ScannedPiece::memory_bytes).sum::<usize>();
            if memory_bytes > self.plan_memory_bytes() {
                return Ok(Ok(Scan::TooLong));
            }
            pieces.extend(round);
            self.resources.progress.advance((end - start) as u64);
            start = end;
        }
        Ok(Ok(Scan::Whole(pieces)))
    }

    /// For a payload with more ids than fit into memory: plans some, carries the plan out, and so on. Begins with an
    /// empty plan, so that dropping the plan and returning to the state before undoes it.
    fn upsert_in_parts(&mut self, upsert: &Upsert, payload: &PayloadBytes, primary_key: &str) -> Attempt {
        self.carry_out_plan()?;
        let before = self.state.clone();
        let rule = self.rule(upsert);
        self.state.primary_key = Some(primary_key.into());
        let (mut received, mut indexed) = (0, 0);
        let mut start = 0;
        self.plan.begin_upsert(payload.clone());
        while start < payload.len() {
            if self.plan.memory_bytes() > self.plan_memory_bytes() {
                self.carry_out_plan()?;
                self.plan.begin_upsert(payload.clone());
            }
            self.resources.progress.enter(Phase::ReadingIds, payload.len() as u64);
            self.resources.progress.advance(start as u64);
            let (pieces, end) = match self.scan_round(payload, start, primary_key)? {
                Ok(round) => round,
                Err(error) => {
                    self.plan = WritePlan::default();
                    self.state = before;
                    return Ok(Err(error));
                }
            };
            for piece in &pieces {
                received += piece.lines.len() as u64;
                indexed += self.plan.upsert(piece, rule, &mut self.state.next_internal_id);
            }
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
        primary_key: &str,
    ) -> Result<Result<(Vec<ScannedPiece>, usize), OperationError>, IndexError> {
        let thread_count = self.resources.threads_for((payload.len() - start) as u64);
        let piece_bytes = (self.resources.memory_bytes / PIECE_MEMORY_DIVISOR).clamp(PIECE_BYTES_MIN, PIECE_BYTES_MAX);
        let mut ranges = Vec::with_capacity(thread_count);
        let mut end = start;
        while ranges.len() < thread_count && end < payload.len() {
            let piece_start = end;
            end = piece_end(payload, piece_start, piece_bytes);
            ranges.push(piece_start..end);
        }
        let pieces = on_threads(ranges.len(), |index| {
            scan(payload, ranges[index].clone(), primary_key, &self.state.segments, self.resources.cancelled)
        })?;
        // The error of the first piece is that of the first unusable document.
        Ok(pieces.into_iter().collect::<Result<Vec<_>, _>>().map(|pieces| (pieces, end)))
    }

    /// Returns the share of the memory that planning may take. The rest is for the segments.
    fn plan_memory_bytes(&self) -> usize {
        self.resources.memory_bytes / PLAN_MEMORY_DIVISOR
    }
}
