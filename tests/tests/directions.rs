//! The house's directions: who may depend on whom (ARCHITECTURE.md). Nothing points back.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, MetadataCommand};

/// Each crate of ours and the crates of ours that it may use.
const MAY_USE: &[(&str, &[&str])] = &[
    ("stateous-engine", &[]),
    ("stateous-compiler", &["stateous-engine"]),
    ("stateous-store", &["stateous-engine"]),
    ("stateous-store-sqlite", &["stateous-store", "stateous-engine"]),
    ("stateous-store-postgres", &["stateous-store", "stateous-engine"]),
    ("stateous-api", &["stateous-engine"]),
    ("stateous-server", &["stateous-api", "stateous-store", "stateous-engine", "stateous-inspect"]),
    ("stateous-inspect", &[]),
    ("stateous-runtime", &["stateous-inspect"]),
    ("stateous-supervisor", &["stateous-runtime", "stateous-api"]),
    (
        "stateous-cli",
        &[
            "stateous-api",
            "stateous-compiler",
            "stateous-engine",
            "stateous-inspect",
            "stateous-runtime",
            "stateous-server",
            "stateous-store",
            "stateous-store-postgres",
            "stateous-store-sqlite",
            "stateous-supervisor",
        ],
    ),
    ("stateous-routine", &["stateous-routine-macros"]),
    ("stateous-routine-macros", &[]),
    ("stateous-private-postgres", &[]),
    ("stateous-e2e", &["stateous-api", "stateous-private-postgres"]),
    ("xtask", &["stateous-api", "stateous-inspect", "stateous-private-postgres"]),
];

#[test]
fn every_crate_uses_only_what_the_house_allows() -> anyhow::Result<()> {
    let metadata = MetadataCommand::new().no_deps().exec()?;
    let allowed: BTreeMap<&str, BTreeSet<&str>> =
        MAY_USE.iter().map(|(name, uses)| (*name, uses.iter().copied().collect())).collect();
    let ours: BTreeSet<String> = metadata.packages.iter().map(|p| p.name.to_string()).collect();
    let mut wrong = Vec::new();
    for package in &metadata.packages {
        let name = package.name.to_string();
        let Some(allowed) = allowed.get(name.as_str()) else {
            wrong.push(format!(
                "{name} has no place in the house: add it to this test and to ARCHITECTURE.md"
            ));
            continue;
        };
        for dependency in &package.dependencies {
            let used = dependency.name.as_str();
            if dependency.kind != DependencyKind::Development
                && ours.contains(used)
                && !allowed.contains(used)
            {
                wrong.push(format!("{name} may not use {used}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn sql_stands_in_store_crates_and_the_outbox_only() -> anyhow::Result<()> {
    let metadata = MetadataCommand::new().no_deps().exec()?;
    let mut with_sql: Vec<String> = metadata
        .packages
        .iter()
        .filter(|p| {
            p.dependencies
                .iter()
                .any(|d| matches!(d.name.as_str(), "rusqlite" | "sqlx") && d.kind == DependencyKind::Normal)
        })
        .map(|p| p.name.to_string())
        .collect();
    with_sql.sort();
    assert_eq!(with_sql, ["stateous-store-postgres", "stateous-store-sqlite", "stateous-supervisor"]);
    Ok(())
}
