//! `#[derive(Event)]`: one arm of one `match` for each event.

use std::collections::HashMap;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, Data, DeriveInput, Fields, Ident};

use crate::names::event_name;

pub(crate) fn expand(item: TokenStream) -> syn::Result<TokenStream> {
    let input: DeriveInput = syn::parse2(item)?;
    if !input.generics.params.is_empty() {
        let text =
            "an event type cannot be generic: write one type for each set of events, with owned fields";
        return Err(syn::Error::new_spanned(&input.generics, text));
    }
    let ident = &input.ident;
    let body = match &input.data {
        Data::Enum(data) => {
            refuse_event_attribute(&input.attrs, "names belong to the variants: move this to one of them")?;
            let mut seen: HashMap<String, Ident> = HashMap::new();
            let mut arms = Vec::new();
            for variant in &data.variants {
                let name = event_name(&variant.ident, &variant.attrs)?;
                if let Some(first) = seen.insert(name.clone(), variant.ident.clone()) {
                    let text = format!("`{first}` is the event `{name}` already; give this one another name");
                    return Err(syn::Error::new_spanned(variant, text));
                }
                let variant_ident = &variant.ident;
                arms.push(arm(&quote!(#ident::#variant_ident), &name, &variant.fields)?);
            }
            quote!(match self { #(#arms)* })
        }
        Data::Struct(data) => {
            let name = event_name(ident, &input.attrs)?;
            let arm = arm(&ident.to_token_stream(), &name, &data.fields)?;
            quote!(match self { #arm })
        }
        Data::Union(data) => {
            let text = "a union cannot be an event: use an enum with one variant for each event, or a struct";
            return Err(syn::Error::new_spanned(data.union_token, text));
        }
    };
    Ok(quote! {
        #[automatically_derived]
        impl ::stateous_routine::Event for #ident {
            fn into_raw(
                self,
            ) -> ::core::result::Result<::stateous_routine::RawEvent, ::stateous_routine::Error> {
                #body
            }
        }
    })
}

/// `pattern => the raw event`, for a unit, for named fields (the payload) or for one unnamed field (the payload).
fn arm(path: &TokenStream, name: &str, fields: &Fields) -> syn::Result<TokenStream> {
    let raw = quote!(::stateous_routine::RawEvent);
    match fields {
        Fields::Unit => Ok(quote!(#path => ::core::result::Result::Ok(#raw::new(#name)),)),
        Fields::Unnamed(unnamed) if unnamed.unnamed.len() == 1 => {
            Ok(quote!(#path(payload) => #raw::with_payload(#name, &payload),))
        }
        Fields::Unnamed(unnamed) => {
            let text = "a payload is one JSON object: name the fields, or put one struct here";
            Err(syn::Error::new_spanned(unnamed, text))
        }
        Fields::Named(named) => {
            let fields: Vec<_> = named.named.iter().collect();
            let idents: Vec<_> = fields.iter().map(|field| &field.ident).collect();
            let types = fields.iter().map(|field| &field.ty);
            let attributes = fields.iter().map(|field| {
                let serde = field.attrs.iter().filter(|attribute| attribute.path().is_ident("serde"));
                quote!(#(#serde)*)
            });
            Ok(quote! {
                #path { #(#idents),* } => {
                    #[derive(::stateous_routine::serde::Serialize)]
                    #[serde(crate = "::stateous_routine::serde")]
                    struct Payload { #(#attributes #idents: #types),* }
                    #raw::with_payload(#name, &Payload { #(#idents),* })
                }
            })
        }
    }
}

fn refuse_event_attribute(attributes: &[Attribute], text: &str) -> syn::Result<()> {
    match attributes.iter().find(|attribute| attribute.path().is_ident("event")) {
        Some(attribute) => Err(syn::Error::new_spanned(attribute, text)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(item: TokenStream) -> String {
        prettyplease::unparse(&syn::parse2(expand(item).unwrap()).unwrap())
    }

    fn refused(item: TokenStream) -> String {
        expand(item).unwrap_err().to_string()
    }

    #[test]
    fn each_variant_is_an_arm() {
        insta::assert_snapshot!(expanded(quote! {
            enum Out {
                Submitted,
                #[event("needs-work")]
                NeedsWork(Verdict),
                Reviewed { approved: bool, #[serde(rename = "why")] note: String },
            }
        }));
    }

    #[test]
    fn a_struct_is_one_event() {
        insta::assert_snapshot!(expanded(quote! {
            #[event("orders-filled")]
            struct Filled { count: u32 }
        }));
    }

    #[test]
    fn other_shapes_are_refused_with_a_way_out() {
        assert_eq!(
            refused(quote!(
                enum Out {
                    A(u8, u8),
                }
            )),
            "a payload is one JSON object: name the fields, or put one struct here"
        );
        assert_eq!(
            refused(quote!(
                enum Out {
                    Done,
                    #[event("done")]
                    Finished,
                }
            )),
            "`Done` is the event `done` already; give this one another name"
        );
        assert_eq!(
            refused(quote!(
                enum Out {
                    #[event(done)]
                    Done,
                }
            )),
            "expected the event's name: #[event(\"needs_work\")]"
        );
        assert!(
            refused(quote!(
                enum Out<T> {
                    Done(T),
                }
            ))
            .contains("cannot be generic")
        );
        assert!(refused(quote!(union Out { a: u8 })).contains("a union cannot be an event"));
        assert!(
            refused(quote!(
                #[event("x")]
                enum Out {
                    A,
                }
            ))
            .contains("belong to the variants")
        );
        assert!(
            refused(quote!(
                enum Out {
                    Timeout,
                }
            ))
            .contains("the engine itself fires `timeout`")
        );
    }
}
