//! `#[routine]`: the function as it was, checked for its shape, and the component's export around it.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{FnArg, ItemFn, ReturnType, Type};

const SHAPE: &str = "a routine is `fn name(ctx: &Context<T>) -> Result<Event>`";

pub(crate) fn expand(arguments: &TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    if !arguments.is_empty() {
        return Err(syn::Error::new_spanned(arguments, "#[routine] takes no arguments"));
    }
    let function: ItemFn = syn::parse2(item).map_err(|error| {
        syn::Error::new(error.span(), format!("#[routine] stands on a function: {SHAPE}"))
    })?;
    let (context, result) = signature(&function)?;
    let name = &function.sig.ident;

    // Both checks carry the user's own spans, so that a missing derive is reported where the type is written.
    let context_check =
        quote_spanned!(context.span()=> ::stateous_routine::__private::is_context::<#context>(););
    let result_check = quote_spanned!(result.span()=> ::stateous_routine::__private::is_result::<#result>(););

    Ok(quote! {
        #function

        const _: fn() = || {
            #context_check
            #result_check
            let _ = #name;
        };

        #[doc(hidden)]
        #[allow(non_upper_case_globals, dead_code, reason = "its name is the message when there are two")]
        const a_component_has_exactly_one_routine: () = ();

        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code, reason = "an export has a C signature; it lifts and lowers, and calls the routine")]
        const _: () = {
            struct Component;

            impl ::stateous_routine::__private::bindings::Guest for Component {
                fn run(
                    task: ::stateous_routine::__private::bindings::Task,
                ) -> ::core::result::Result<
                    ::stateous_routine::__private::bindings::Outcome,
                    ::stateous_routine::__private::bindings::Failure,
                > {
                    ::stateous_routine::__private::run(task, #name)
                }
            }

            ::stateous_routine::__private::bindings::export_routine!(
                Component with_types_in ::stateous_routine::__private::bindings
            );

            #[used]
            #[unsafe(link_section = "stateous:sdk")]
            static SDK: [u8; ::stateous_routine::__private::SDK.len()] =
                *::stateous_routine::__private::SDK_BYTES;
        };
    })
}

/// The context's type (without its `&`) and the type that is returned.
fn signature(function: &ItemFn) -> syn::Result<(&Type, &Type)> {
    let signature = &function.sig;
    if let Some(asyncness) = &signature.asyncness {
        let text =
            "a routine is not async: the host suspends it at every call that takes time; remove `async`";
        return Err(syn::Error::new_spanned(asyncness, text));
    }
    if !signature.generics.params.is_empty() {
        let text = format!("a routine cannot be generic: {SHAPE}");
        return Err(syn::Error::new_spanned(&signature.generics, text));
    }
    let mut inputs = signature.inputs.iter();
    let context = match (inputs.next(), inputs.next()) {
        (Some(FnArg::Typed(input)), None) => match &*input.ty {
            Type::Reference(reference) if reference.mutability.is_none() => &*reference.elem,
            other => {
                return Err(syn::Error::new_spanned(other, format!("expected `&Context<T>`: {SHAPE}")));
            }
        },
        (Some(FnArg::Receiver(receiver)), _) => {
            let text = format!("a routine is a free function without `self`: {SHAPE}");
            return Err(syn::Error::new_spanned(receiver, text));
        }
        (None, _) => {
            return Err(syn::Error::new_spanned(
                &signature.ident,
                format!("the context is missing: {SHAPE}"),
            ));
        }
        (Some(_), Some(second)) => {
            let text = format!("a routine takes its context and nothing else: {SHAPE}");
            return Err(syn::Error::new_spanned(second, text));
        }
    };
    match &signature.output {
        ReturnType::Type(_, result) => Ok((context, result)),
        ReturnType::Default => {
            let text = format!("a routine says how the attempt ends: {SHAPE}, or `-> Result<Waiting>`");
            Err(syn::Error::new_spanned(&signature.ident, text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(item: TokenStream) -> String {
        expand(&TokenStream::new(), item).unwrap_err().to_string()
    }

    #[test]
    fn a_routine_is_checked_and_exported() {
        let expanded = expand(
            &TokenStream::new(),
            quote! {
                /// Drafts.
                fn draft(ctx: &Context<Item>) -> Result<Out> {
                    Ok(Out::Submitted)
                }
            },
        );
        insta::assert_snapshot!(prettyplease::unparse(&syn::parse2(expanded.unwrap()).unwrap()));
    }

    #[test]
    fn other_signatures_are_refused_with_the_right_one() {
        for (item, text) in [
            (
                quote!(
                    async fn f(ctx: &Context) -> Result<Out> {}
                ),
                "a routine is not async",
            ),
            (
                quote!(
                    fn f<T>(ctx: &Context<T>) -> Result<Out> {}
                ),
                "a routine cannot be generic",
            ),
            (
                quote!(
                    fn f() -> Result<Out> {}
                ),
                "the context is missing",
            ),
            (
                quote!(
                    fn f(&self) -> Result<Out> {}
                ),
                "without `self`",
            ),
            (
                quote!(
                    fn f(ctx: Context<Item>) -> Result<Out> {}
                ),
                "expected `&Context<T>`",
            ),
            (
                quote!(
                    fn f(ctx: &mut Context<Item>) -> Result<Out> {}
                ),
                "expected `&Context<T>`",
            ),
            (
                quote!(
                    fn f(ctx: &Context, n: u8) -> Result<Out> {}
                ),
                "its context and nothing else",
            ),
            (
                quote!(
                    fn f(ctx: &Context) {}
                ),
                "says how the attempt ends",
            ),
            (
                quote!(
                    struct F;
                ),
                "stands on a function",
            ),
        ] {
            let refusal = refused(item);
            assert!(refusal.contains(text), "{refusal}");
        }
        let arguments = expand(
            &quote!(retries = 2),
            quote!(
                fn f(ctx: &Context) -> Result<Out> {}
            ),
        );
        assert_eq!(arguments.unwrap_err().to_string(), "#[routine] takes no arguments");
    }
}
