//! End-to-end tests of the `lamina` binary.
