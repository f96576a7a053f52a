//! A routine's folder: which language it is in, and what comes of building it.

use std::path::{Path, PathBuf};

use stateous_inspect::{SDK_SECTION, componentize, mark};

use crate::error::BuildError;
use crate::{c, go, javascript, python, rust, source};

/// A language that routines are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// `Cargo.toml`. A workspace may hold several routines.
    Rust,
    /// `package.json`; TypeScript too.
    JavaScript,
    /// `routine.py`.
    Python,
    /// `routine.c`, `routine.cc` or `routine.cpp`.
    C,
    /// `go.mod`.
    Go,
}

/// A folder with a routine's sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The language of its sources.
    pub language: Language,
    /// The folder.
    pub folder: PathBuf,
}

/// What the caller knows better than the folder.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where cargo puts what it builds; beside the sources unless given.
    pub target_dir: Option<PathBuf>,
    /// The compiler for Rust; cargo's own, or one that is found, unless given.
    pub rustc: Option<PathBuf>,
    /// Components of earlier builds: `<name>.wasm`. One of a language whose tools are not reproducible is kept as long as
    /// its sources are the same.
    pub earlier: Option<PathBuf>,
}

/// A component, fresh or kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// The name of the routine's folder: usually the state that it serves.
    pub name: String,
    /// The component.
    pub component: Vec<u8>,
    /// Its sources were those of an earlier component, which this is.
    pub kept: bool,
}

impl Project {
    /// The project in a folder.
    ///
    /// # Errors
    /// When no language claims it.
    pub fn find(folder: &Path) -> Result<Self, BuildError> {
        let folder = folder.canonicalize().map_err(BuildError::io(folder))?;
        match language(&folder) {
            Some(language) => Ok(Self { language, folder }),
            None => Err(BuildError::NoProject { folder }),
        }
    }

    /// Builds it. A Rust workspace may hold several routines, any other project is one.
    ///
    /// # Errors
    /// When a tool is missing, the sources do not build, or what they build to is no routine.
    pub fn build(&self, options: &Options) -> Result<Vec<Built>, BuildError> {
        match self.language {
            Language::Rust => rust::build(&self.folder, options),
            Language::C => Ok(vec![self.of_module(&c::build(&self.folder)?, "c")?]),
            Language::Go => Ok(vec![self.of_module(&go::build(&self.folder)?, "go")?]),
            Language::JavaScript => self.unless_kept(options, javascript::Build::of(&self.folder)?, "js"),
            Language::Python => self.unless_kept(options, python::Build::of(&self.folder)?, "python"),
        }
    }

    fn name(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn of_module(&self, module: &[u8], sdk: &str) -> Result<Built, BuildError> {
        let problem = |problem| BuildError::NoRoutine { folder: self.folder.clone(), problem };
        let component = componentize(&stateous_inspect::without_debug(module).map_err(problem)?);
        let component = mark(component.map_err(problem)?, SDK_SECTION, &sdk_mark(sdk));
        Ok(Built { name: self.name(), component, kept: false })
    }

    /// The tools of these languages take clock and randomness of the machine into the component, so that no two builds are
    /// the same. A component therefore says which sources it is of, and is kept while they are the same.
    fn unless_kept(
        &self,
        options: &Options,
        build: impl source::SnapshotBuild,
        sdk: &str,
    ) -> Result<Vec<Built>, BuildError> {
        let name = self.name();
        let digest = source::digest(&self.folder, &build)?;
        let earlier = options.earlier.as_ref().map(|folder| folder.join(format!("{name}.wasm")));
        if let Some(component) = earlier.and_then(|file| std::fs::read(file).ok())
            && stateous_inspect::marked(&component, source::SECTION).as_ref() == Some(&digest)
        {
            return Ok(vec![Built { name, component, kept: true }]);
        }
        let component = mark(build.run()?, SDK_SECTION, &sdk_mark(sdk));
        let component = mark(component, source::SECTION, &digest);
        Ok(vec![Built { name, component, kept: false }])
    }
}

/// Every project below a folder of routines: the folder itself if it is one, and else each of its folders that is, sorted.
///
/// # Errors
/// When the folder cannot be read, or there is none.
pub fn projects(folder: &Path) -> Result<Vec<Project>, BuildError> {
    let folder = folder.canonicalize().map_err(BuildError::io(folder))?;
    let mut found: Vec<Project> =
        language(&folder).map(|language| Project { language, folder: folder.clone() }).into_iter().collect();
    let in_workspace = found.iter().any(|project| project.language == Language::Rust);
    if found.is_empty() || in_workspace {
        for entry in std::fs::read_dir(&folder).map_err(BuildError::io(&folder))? {
            let path = entry.map_err(BuildError::io(&folder))?.path();
            // Folders of a workspace are built with it.
            match language(&path) {
                Some(Language::Rust) if in_workspace => {}
                Some(language) => found.push(Project { language, folder: path }),
                None => {}
            }
        }
    }
    found.sort_by(|a, b| a.folder.cmp(&b.folder));
    if found.is_empty() { Err(BuildError::NoProject { folder }) } else { Ok(found) }
}

fn language(folder: &Path) -> Option<Language> {
    let has = |name: &str| folder.join(name).is_file();
    [
        (Language::Rust, &["Cargo.toml"][..]),
        (Language::JavaScript, &["package.json"]),
        (Language::Go, &["go.mod"]),
        (Language::Python, &["routine.py"]),
        (Language::C, &["routine.c", "routine.cc", "routine.cpp"]),
    ]
    .into_iter()
    .find_map(|(language, files)| files.iter().any(|file| has(file)).then_some(language))
}

/// Which SDK a component was built with: its language and version.
fn sdk_mark(language: &str) -> String {
    format!("{language} {}", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_of_the_language_of_its_files() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        for (folder, file) in [
            ("a", "package.json"),
            ("b", "routine.py"),
            ("c", "routine.cpp"),
            ("d", "go.mod"),
            ("e", "Cargo.toml"),
            ("none", "README.md"),
        ] {
            std::fs::create_dir(root.join(folder)).unwrap();
            std::fs::write(root.join(folder).join(file), "").unwrap();
        }
        let found = |root: &Path| -> Vec<(Language, String)> {
            projects(root).unwrap().into_iter().map(|p| (p.language, p.name())).collect()
        };
        let all = [
            (Language::JavaScript, "a".to_owned()),
            (Language::Python, "b".to_owned()),
            (Language::C, "c".to_owned()),
            (Language::Go, "d".to_owned()),
            (Language::Rust, "e".to_owned()),
        ];
        assert_eq!(found(&root), all);
        assert_eq!(found(&root.join("b")), all[1..2]);

        // A workspace builds its own folders; those of other languages beside them are found all the same.
        std::fs::write(root.join("Cargo.toml"), "").unwrap();
        let languages: Vec<Language> = projects(&root).unwrap().iter().map(|p| p.language).collect();
        assert_eq!(
            languages,
            [Language::Rust, Language::JavaScript, Language::Python, Language::C, Language::Go]
        );

        let error = Project::find(&root.join("none")).unwrap_err().to_string();
        assert!(error.contains("holds no routine: expected Cargo.toml (Rust)"), "{error}");
    }
}
