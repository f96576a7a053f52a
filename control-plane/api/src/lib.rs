//! Wire types and the HTTP client.
