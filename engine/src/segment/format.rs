//! Constants of the file, the section table, and the writer that keeps offsets and checksums.
