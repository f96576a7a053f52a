//! The macros of `stateous-routine`: `#[routine]`, which makes a function the component's one export, and
//! `#[derive(Event)]`, which gives a type its event names and payloads.
//!
//! Use them through `stateous_routine`, which re-exports both; what they expand to names only that crate. This crate
//! owns the shapes that are accepted and the sentences said about those that are not; what an event or a routine
//! *does* is `stateous_routine`'s.

mod event;
mod names;
mod routine;

use proc_macro::TokenStream;

/// Makes this function the component's routine.
///
/// The function takes `&Context<T>`, where `T` reads the token's context with serde, and returns
/// `Result<impl IntoOutcome, impl Into<Failure>>`: an event, an optional event (`None` waits), `Waiting` or an
/// `Outcome`. It stays an ordinary function, so that native tests call it.
///
/// A component has exactly one routine.
#[proc_macro_attribute]
pub fn routine(arguments: TokenStream, item: TokenStream) -> TokenStream {
    routine::expand(&arguments.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes each variant of an enum (or one struct) an event that the state may emit.
///
/// The name is the variant's in snake case, `NeedsWork` is `needs_work`; `#[event("needs-work")]` says another. A unit
/// variant has no payload; named fields are the payload, and take serde's field attributes; one unnamed field is the
/// payload itself and must serialise as a JSON object.
#[proc_macro_derive(Event, attributes(event, serde))]
pub fn derive_event(item: TokenStream) -> TokenStream {
    event::expand(item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}
