//! argv to commands; flags, help, completions and man pages from one definition.
