//! The world that we offer, read once from `wit/routine.wit`, and what an import of it may look like.
//!
//! WASI is offered by name and version only: nothing of it is granted, and the linker of the runtime has the
//! last word on its types.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use wasmparser::component_types::{ComponentAnyTypeId, ComponentEntityType as Entity};
use wasmparser::{Validator, WasmFeatures};
use wit_parser::Resolve;

use crate::shape;

/// The WASI packages that the host links whole, and the version line of all of them.
const WASI_PACKAGES: [&str; 6] =
    ["wasi:cli", "wasi:clocks", "wasi:filesystem", "wasi:io", "wasi:random", "wasi:sockets"];
/// Of `wasi:http` only these: requests go out, none come in.
const WASI_HTTP: [&str; 2] = ["types", "outgoing-handler"];
const WASI_VERSION: Version = Version { major: 0, minor: 2, patch: 0 };

/// Our world `stateous:routine/routine`.
pub(crate) struct World {
    /// `stateous:routine`.
    pub(crate) package: String,
    pub(crate) version: Version,
    /// Interface name (`context`) to its functions and their types as text.
    pub(crate) interfaces: BTreeMap<String, BTreeMap<String, String>>,
    /// The type of the export `run` as text.
    pub(crate) run: String,
}

/// The part of a version that decides whether two fit together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version {
    major: u32,
    minor: u32,
    patch: u32,
}

/// What the name of an import tells.
pub(crate) enum Offer<'w> {
    /// An interface of ours; its functions.
    Ours(&'w BTreeMap<String, String>),
    /// WASI, linked with nothing granted.
    Wasi,
    /// Known, in another version; the line that we offer (`0.1.x`).
    OtherVersion(String),
    Unknown,
}

/// The contract with guests, as text.
pub const WIT: &str = include_str!("../../../wit/routine.wit");

/// The world of this build.
pub(crate) static WORLD: LazyLock<World> =
    LazyLock::new(|| World::parse(WIT).expect("wit/routine.wit is part of this build"));

impl World {
    /// Our WIT, encoded as a component type and read back with the same reader that reads the uploads.
    fn parse(wit: &str) -> Option<Self> {
        let mut resolve = Resolve::default();
        let package = resolve.push_str("routine.wit", wit).ok()?;
        let world = resolve.select_world(&[package], Some("routine")).ok()?;
        let name = resolve.packages[package].name.clone();
        let bytes = wit_component::metadata::encode(&resolve, world, Default::default(), None, false).ok()?;
        let types = Validator::new_with_features(WasmFeatures::all()).validate_all(&bytes).ok()?;
        let types = types.as_ref();

        // The encoding is a type `routine` whose single export is the world itself.
        let outer = types.component_item_for_export("routine")?;
        let Entity::Type { referenced: ComponentAnyTypeId::Component(outer), .. } = outer.ty else {
            return None;
        };
        let (_, inner) = types[outer].exports.iter().next()?;
        let Entity::Component(world) = inner.ty else { return None };

        let mut interfaces = BTreeMap::new();
        for (import, item) in &types[world].imports {
            // The rest are the names of types that the world uses.
            let Entity::Instance(instance) = item.ty else { continue };
            let mut functions = BTreeMap::new();
            for (function, item) in &types[instance].exports {
                if let Entity::Func(id) = item.ty {
                    functions.insert(function.clone(), shape::func(types, id));
                }
            }
            interfaces.insert(split(import)?.1.to_owned(), functions);
        }
        let Entity::Func(run) = types[world].exports.get("run")?.ty else { return None };
        Some(Self {
            package: format!("{}:{}", name.namespace, name.name),
            version: Version::parse(&name.version?.to_string())?,
            interfaces,
            run: shape::func(types, run),
        })
    }

    /// What we offer under the name of an import.
    pub(crate) fn offer(&self, import: &str) -> Offer<'_> {
        let Some((package, interface, version)) = split(import) else { return Offer::Unknown };
        let ours = package == self.package;
        let http = package == "wasi:http" && WASI_HTTP.contains(&interface);
        if !ours && !http && !WASI_PACKAGES.contains(&package) {
            return Offer::Unknown;
        }
        let line = if ours { self.version } else { WASI_VERSION };
        if !version.is_some_and(|v| v.fits(line)) {
            return Offer::OtherVersion(line.line());
        }
        if !ours {
            return Offer::Wasi;
        }
        self.interfaces.get(interface).map_or(Offer::Unknown, Offer::Ours)
    }
}

impl Version {
    /// `1.2.3` or, in canonical names, its significant part: `1`, `0.2`. A pre-release is a version of its
    /// own, so it is none.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.').map(|part| part.parse::<u32>().ok());
        let version = Self {
            major: parts.next()??,
            minor: parts.next().unwrap_or(Some(0))?,
            patch: parts.next().unwrap_or(Some(0))?,
        };
        parts.next().is_none().then_some(version)
    }

    /// As the linker of the runtime has it: the first number that is not 0 must be the same.
    fn fits(self, offered: Self) -> bool {
        match (offered.major, offered.minor) {
            (0, 0) => self == offered,
            (0, minor) => self.major == 0 && self.minor == minor,
            (major, _) => self.major == major,
        }
    }

    fn line(self) -> String {
        if self.major == 0 { format!("0.{}.x", self.minor) } else { format!("{}.x", self.major) }
    }

    pub(crate) fn text(self) -> String {
        format!("{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// `ns:package/interface@version` in its three parts.
fn split(import: &str) -> Option<(&str, &str, Option<Version>)> {
    let (path, version) =
        import.split_once('@').map_or((import, None), |(path, version)| (path, Some(version)));
    let (package, interface) = path.split_once('/')?;
    Some((package, interface, version.and_then(Version::parse)))
}
