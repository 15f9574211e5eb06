//! Criterion suites live in this folder; see the bench files.
