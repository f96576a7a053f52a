//! #[routine].
