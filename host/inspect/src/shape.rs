//! Component types as text, so that two of them can be compared and the difference shown.
//!
//! The text is WIT's own notation without names of types: `record{name: string, payload: option<string>}`.
//! Two types with the same text are the same to the canonical ABI.

use wasmparser::component_types::{
    ComponentDefinedType as Defined, ComponentDefinedTypeId, ComponentFuncTypeId, ComponentValType as Val,
};
use wasmparser::types::TypesRef as Types;

/// A type can be written down in few bytes and unfold to millions; beyond this much text it is none of ours.
const TEXT_MAX: usize = 4096;

/// A function's type: `func(key: string) -> option<string>`.
pub(crate) fn func(types: Types<'_>, id: ComponentFuncTypeId) -> String {
    let ty = &types[id];
    let mut out = String::from(if ty.async_ { "async func(" } else { "func(" });
    list(&mut out, ty.params.iter(), |out, (name, ty)| {
        out.push_str(name.as_str());
        out.push_str(": ");
        val(types, *ty, out);
    });
    out.push(')');
    if let Some(result) = ty.result {
        out.push_str(" -> ");
        val(types, result, &mut out);
    }
    if out.len() > TEXT_MAX {
        out.truncate(out.floor_char_boundary(TEXT_MAX));
        out.push('…');
    }
    out
}

fn val(types: Types<'_>, ty: Val, out: &mut String) {
    match ty {
        Val::Primitive(p) => out.push_str(&p.to_string()),
        Val::Type(id) => defined(types, id, out),
    }
}

/// Every level writes at least one character first, so the bound on text is a bound on depth too.
fn defined(types: Types<'_>, id: ComponentDefinedTypeId, out: &mut String) {
    if out.len() > TEXT_MAX {
        return;
    }
    match &types[id] {
        Defined::Primitive(p) => out.push_str(&p.to_string()),
        Defined::Record(record) => {
            out.push_str("record{");
            list(out, record.fields.iter(), |out, (name, ty)| {
                out.push_str(name.as_str());
                out.push_str(": ");
                val(types, *ty, out);
            });
            out.push('}');
        }
        Defined::Variant(variant) => {
            out.push_str("variant{");
            list(out, variant.cases.iter(), |out, (name, case)| {
                out.push_str(name.as_str());
                if let Some(ty) = case.ty {
                    out.push('(');
                    val(types, ty, out);
                    out.push(')');
                }
            });
            out.push('}');
        }
        Defined::List { element, .. } => {
            out.push_str("list<");
            val(types, *element, out);
            out.push('>');
        }
        Defined::FixedLengthList { element, length, .. } => {
            out.push_str("list<");
            val(types, *element, out);
            out.push_str(&format!(", {length}>"));
        }
        Defined::Map { key, value, .. } => {
            out.push_str("map<");
            val(types, *key, out);
            out.push_str(", ");
            val(types, *value, out);
            out.push('>');
        }
        Defined::Tuple(tuple) => {
            out.push_str("tuple<");
            list(out, tuple.types.iter(), |out, ty| val(types, *ty, out));
            out.push('>');
        }
        Defined::Flags(names) => {
            out.push_str("flags{");
            list(out, names.iter(), |out, name| out.push_str(name.as_str()));
            out.push('}');
        }
        Defined::Enum(names) => {
            out.push_str("enum{");
            list(out, names.iter(), |out, name| out.push_str(name.as_str()));
            out.push('}');
        }
        Defined::Option { ty, .. } => {
            out.push_str("option<");
            val(types, *ty, out);
            out.push('>');
        }
        Defined::Result { ok, err, .. } => {
            out.push_str("result<");
            optional(types, *ok, out);
            out.push_str(", ");
            optional(types, *err, out);
            out.push('>');
        }
        Defined::Own(_) => out.push_str("own<resource>"),
        Defined::Borrow(_) => out.push_str("borrow<resource>"),
        Defined::Future { ty, .. } => {
            out.push_str("future<");
            optional(types, *ty, out);
            out.push('>');
        }
        Defined::Stream { ty, .. } => {
            out.push_str("stream<");
            optional(types, *ty, out);
            out.push('>');
        }
    }
}

fn optional(types: Types<'_>, ty: Option<Val>, out: &mut String) {
    match ty {
        Some(ty) => val(types, ty, out),
        None => out.push('_'),
    }
}

/// Writes the items with `, ` between them and stops when there is too much text already.
fn list<T>(out: &mut String, items: impl Iterator<Item = T>, write: impl Fn(&mut String, T)) {
    for (i, item) in items.enumerate() {
        if out.len() > TEXT_MAX {
            return;
        }
        if i > 0 {
            out.push_str(", ");
        }
        write(out, item);
    }
}
