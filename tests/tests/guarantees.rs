//! `docs/guarantees.md` promises nothing that no test proves: each of its lines names tests, and each named test is there.

use std::collections::BTreeSet;

use stateous_e2e::Product;

/// A test that the page names: `path/to/file.rs::name`.
fn named(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.split('`').skip(1).step_by(2).filter_map(|code| code.split_once(".rs::"))
}

/// Whether the text of a file has this function, as a test or as a property of the store's suite.
fn is_test(file: &str, text: &str, name: &str, suite: &str) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    lines.iter().enumerate().any(|(at, line)| {
        let declared = line.contains(&format!("fn {name}("));
        let marked = lines[at.saturating_sub(3)..at]
            .iter()
            .any(|l| l.contains("#[test]") || l.contains("#[tokio::test"));
        let property =
            file.contains("/conformance/") && suite.lines().any(|l| l.trim() == format!("{name},"));
        declared && (marked || property)
    })
}

#[test]
fn every_guarantee_names_tests_that_are_there() -> anyhow::Result<()> {
    let root = Product::root();
    let page = std::fs::read_to_string(root.join("docs/guarantees.md"))?;
    let suite = std::fs::read_to_string(root.join("control-plane/store/src/conformance/mod.rs"))?;
    let mut wrong = Vec::new();
    let mut tests = BTreeSet::new();
    for (number, line) in (1..).zip(page.lines()) {
        // A promise is a row of a table; its tests stand in its last column.
        let Some(row) =
            line.strip_prefix("| ").filter(|row| !row.starts_with("Promise") && !row.starts_with("---"))
        else {
            continue;
        };
        if named(row).next().is_none() {
            wrong.push(format!("line {number} names no test: {row}"));
        }
        for (file, name) in named(row) {
            let path = root.join(format!("{file}.rs"));
            match std::fs::read_to_string(&path) {
                Ok(text) if is_test(file, &text, name, &suite) => drop(tests.insert((file, name))),
                Ok(_) => wrong.push(format!("line {number}: {file}.rs has no test {name}")),
                Err(error) => wrong.push(format!("line {number}: {file}.rs: {error}")),
            }
        }
    }
    assert!(wrong.is_empty(), "docs/guarantees.md is wrong:\n{}", wrong.join("\n"));
    assert!(tests.len() > 40, "the page was read: {} tests", tests.len());
    Ok(())
}
