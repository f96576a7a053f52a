//! The runtime, and the way of a component to a form that can be instantiated: memory, disk, or fetched and
//! compiled.

use std::error::Error;
use std::sync::Arc;

use stateous_inspect::{Problem, ProblemCode, UPLOAD_BYTES_MAX, digest as digest_of, is_digest, prescan};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use wasmtime::Engine;
use wasmtime::component::{Component, Linker};

use crate::attempt::Attempt;
use crate::bindings::RoutinePre;
use crate::cache::Cache;
use crate::compile::{CompileError, compile};
use crate::engine;
use crate::limits::Limits;
use crate::options::{CompileWorker, RuntimeError, RuntimeOptions};
use crate::prepare_error::PrepareError;
use crate::shelf::{Known, Shelf};

/// Compilations at once: one can take a core for a minute and gigabytes.
const COMPILATIONS: usize = 1;

/// Compiles and runs routines. One process has one; it is shared by reference.
pub struct Runtime {
    pub(crate) engine: Engine,
    pub(crate) caps: Limits,
    /// Smaller than the pool of the engine, so that an attempt that has a slot has an instance.
    pub(crate) slots: Semaphore,
    linker: Arc<Linker<Attempt>>,
    cache: Cache,
    shelf: Shelf,
    worker: CompileWorker,
    compilations: Semaphore,
}

/// A component that is ready to run. Cheap to clone.
#[derive(Clone)]
pub struct Prepared(Arc<Inner>);

struct Inner {
    digest: String,
    routine: RoutinePre<Attempt>,
}

impl Prepared {
    /// The digest of the component.
    pub fn digest(&self) -> &str {
        &self.0.digest
    }

    pub(crate) fn routine(&self) -> &RoutinePre<Attempt> {
        &self.0.routine
    }
}

impl Runtime {
    /// Starts the engine and opens the cache.
    ///
    /// # Errors
    /// When the settings make no sense, the address space for so many slots is not there, or the cache folder
    /// cannot be used.
    pub fn new(options: RuntimeOptions) -> Result<Self, RuntimeError> {
        let RuntimeOptions { cache_dir, cache_bytes_max, slots, caps, compile_worker } = options;
        if !(1..=1000).contains(&slots) {
            return Err(RuntimeError::Slots(slots));
        }
        let failed = |e: wasmtime::Error| RuntimeError::Engine { slots, message: format!("{e:#}") };
        let engine = engine::pooled(slots, caps.memory_bytes).map_err(failed)?;
        let linker = engine::linker(&engine).map_err(failed)?;
        let cache = Cache::open(&cache_dir, &engine::compatibility(&engine), cache_bytes_max)
            .map_err(|source| RuntimeError::Cache { path: cache_dir, source })?;
        Ok(Self {
            engine,
            caps,
            slots: Semaphore::new(slots),
            linker: Arc::new(linker),
            cache,
            shelf: Shelf::default(),
            worker: compile_worker,
            compilations: Semaphore::new(COMPILATIONS),
        })
    }

    /// Makes the component with this digest ready to run. `fetch` is only asked for its bytes when there is
    /// no compiled form in memory or on disk. Of those who ask for the same digest at the same time, one
    /// works and the others wait.
    ///
    /// # Errors
    /// See [`PrepareError`]. One that is not [transient](PrepareError::is_transient) is remembered for as
    /// long as the runtime lives.
    pub async fn prepare<E>(
        &self,
        digest: &str,
        fetch: impl Future<Output = Result<Vec<u8>, E>>,
    ) -> Result<Prepared, PrepareError>
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        if !is_digest(digest) {
            let actual = "that is no digest (`sha256:` and 64 hexadecimal digits)".to_owned();
            return Err(PrepareError::WrongDigest { expected: digest.to_owned(), actual });
        }
        let place = self.shelf.place(digest);
        let mut known = place.lock().await;
        if let Some(answer) = known.answer() {
            return answer;
        }
        let result = self.find_or_compile(digest, fetch).await;
        *known = Known::of(&result);
        result
    }

    async fn find_or_compile<E>(
        &self,
        digest: &str,
        fetch: impl Future<Output = Result<Vec<u8>, E>>,
    ) -> Result<Prepared, PrepareError>
    where
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        if let Some(prepared) = self.find_on_disk(digest).await? {
            return Ok(prepared);
        }
        let bytes = fetch
            .await
            .map_err(|e| PrepareError::Fetch { digest: digest.to_owned(), source: Arc::from(e.into()) })?;
        let bytes = blocking(digest, {
            let digest = digest.to_owned();
            move || checked(&digest, bytes)
        })
        .await?;

        let compiled = {
            let host = |e: &dyn std::fmt::Display| PrepareError::Host {
                digest: digest.to_owned(),
                message: e.to_string(),
            };
            let _turn = self.compilations.acquire().await.map_err(|e| host(&e))?;
            let workshop = self.cache.workshop().map_err(|e| host(&e))?;
            compile(&self.worker, &bytes, workshop.path()).await.map_err(|e| match e {
                CompileError::Failed(message) => PrepareError::Compile { digest: digest.to_owned(), message },
                CompileError::Limit(message) => {
                    PrepareError::CompileLimit { digest: digest.to_owned(), message }
                }
                CompileError::Host(message) => host(&message),
            })?
        };

        let (cache, engine, linker) = (self.cache.clone(), self.engine.clone(), self.linker.clone());
        blocking(digest, {
            let digest = digest.to_owned();
            move || {
                let prepared = link(&digest, &engine, &linker, &compiled)?;
                // Without a copy on disk it runs just as well; the next start compiles again.
                if let Err(e) = cache.store(&digest, &compiled) {
                    tracing::warn!(digest, "The compiled routine {digest} could not be kept on disk: {e}");
                }
                Ok(prepared)
            }
        })
        .await
    }

    /// The compiled form on disk, if there is one that this engine takes.
    async fn find_on_disk(&self, digest: &str) -> Result<Option<Prepared>, PrepareError> {
        let (cache, engine, linker) = (self.cache.clone(), self.engine.clone(), self.linker.clone());
        let name = digest.to_owned();
        blocking(digest, move || {
            let compiled = match cache.load(&name) {
                Ok(Some(compiled)) => compiled,
                Ok(None) => return Ok(None),
                Err(e) => {
                    tracing::warn!(
                        digest = name,
                        "The compiled routine {name} could not be read, it is compiled again: {e}"
                    );
                    return Ok(None);
                }
            };
            match link(&name, &engine, &linker, &compiled) {
                Ok(prepared) => Ok(Some(prepared)),
                Err(e) => {
                    tracing::warn!(
                        digest = name,
                        "The compiled routine {name} is not taken, it is compiled again: {e}"
                    );
                    let _ = cache.remove(&name);
                    Ok(None)
                }
            }
        })
        .await
    }
}

/// Hashing, reading and loading take up to a few hundred milliseconds, so they keep off the async threads.
async fn blocking<T: Send + 'static>(
    digest: &str,
    work: impl FnOnce() -> Result<T, PrepareError> + Send + 'static,
) -> Result<T, PrepareError> {
    spawn_blocking(work).await.unwrap_or_else(|e| {
        Err(PrepareError::Host {
            digest: digest.to_owned(),
            message: format!("a thread of the host was lost: {e}"),
        })
    })
}

/// Whether these are the bytes that were asked for, and whether the compiler may see them.
fn checked(digest: &str, bytes: Vec<u8>) -> Result<Vec<u8>, PrepareError> {
    let actual = digest_of(&bytes);
    if actual != digest {
        return Err(PrepareError::WrongDigest { expected: digest.to_owned(), actual });
    }
    let refused = |problem| PrepareError::Refused { digest: digest.to_owned(), problem };
    if bytes.len() > UPLOAD_BYTES_MAX {
        let message = format!("it has {} bytes, at most {UPLOAD_BYTES_MAX} are taken", bytes.len());
        return Err(refused(Problem { code: ProblemCode::TooLarge, message }));
    }
    prescan(&bytes).map_err(refused)?;
    Ok(bytes)
}

/// Loads a compiled form and fits it to our world.
fn link(
    digest: &str,
    engine: &Engine,
    linker: &Linker<Attempt>,
    compiled: &[u8],
) -> Result<Prepared, PrepareError> {
    // SAFETY: `compiled` is native code, so it must come from our own compiler. It does: it was written by
    // the compile worker, which takes nothing but validated WebAssembly, into a folder that only we can
    // write, and came here either directly or through the cache, which has checked its sum. The engine itself
    // refuses another version's or machine's.
    #[expect(unsafe_code, reason = "loading what our own compiler wrote is what the cache is for")]
    let component = unsafe { Component::deserialize(engine, compiled) };
    let routine =
        component.and_then(|component| linker.instantiate_pre(&component)).and_then(RoutinePre::new);
    match routine {
        Ok(routine) => Ok(Prepared(Arc::new(Inner { digest: digest.to_owned(), routine }))),
        Err(e) => Err(PrepareError::DoesNotFit { digest: digest.to_owned(), message: format!("{e:#}") }),
    }
}
