//! Looks into components without compiling them.
