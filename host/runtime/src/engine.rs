//! The configuration of wasmtime, in one place: what guests may use and what the pool holds.
//!
//! The supervisor's engine and the one of the compile worker differ only in where instances would live, which
//! is not part of a compiled form, so each reads what the other wrote.

use std::hash::{DefaultHasher, Hash, Hasher};

use wasmtime::component::{HasSelf, Linker};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, WasmBacktraceDetails,
};

use crate::attempt::Attempt;
use crate::bindings::Routine;

/// Tables of a component may have this many elements each.
pub(crate) const TABLE_ELEMENTS_MAX: usize = 20_000;

/// Core instances of one component: componentize-py makes 14 modules and some 40 instances.
const CORE_INSTANCES: u32 = 40;

fn config() -> Config {
    let mut config = Config::new();
    // Metering, preemption and cancellation all come from fuel and its yields; epochs on top would double the
    // cost. Threads, exceptions and garbage collection are not compiled in at all. Multiple memories stay on:
    // turning them off makes wasmtime 48 panic on components made of several.
    config
        .consume_fuel(true)
        .concurrency_support(false)
        .shared_memory(false)
        .wasm_memory64(false)
        .wasm_tail_call(false)
        .wasm_relaxed_simd(false)
        .wasm_custom_page_sizes(false)
        .wasm_wide_arithmetic(false)
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .max_wasm_stack(1 << 20)
        .async_stack_size(2 << 20);
    config
}

/// The engine that runs guests: address space for all of them is reserved at once.
pub(crate) fn pooled(slots: usize, memory_bytes_max: u64) -> wasmtime::Result<Engine> {
    // A little larger than the semaphore in front of it, so that nobody ever meets a full pool.
    let n = u32::try_from(slots + slots / 8 + 4)?;
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(n)
        .total_core_instances(CORE_INSTANCES * n)
        .total_memories(2 * n)
        .total_tables(4 * n)
        .total_stacks(n)
        .max_memory_size(usize::try_from(memory_bytes_max)?)
        .table_elements(TABLE_ELEMENTS_MAX)
        .max_core_instances_per_component(64)
        .max_memories_per_component(2)
        .max_tables_per_component(8)
        .max_core_instance_size(4 << 20)
        .max_component_instance_size(4 << 20)
        .linear_memory_keep_resident(128 << 10)
        .pagemap_scan(Enabled::Auto);
    let mut config = config();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    Engine::new(&config)
}

/// The engine of the compile worker: no pool, since its address space is limited.
pub(crate) fn compiling() -> wasmtime::Result<Engine> {
    let mut config = config();
    config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
    Engine::new(&config)
}

/// Everything that a routine may import: our world, WASI with nothing granted, and outgoing HTTP.
pub(crate) fn linker(engine: &Engine) -> wasmtime::Result<Linker<Attempt>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    Routine::add_to_linker::<_, HasSelf<_>>(&mut linker, |attempt| attempt)?;
    Ok(linker)
}

/// What a compiled form must have been made for, as 16 hexadecimal digits: wasmtime's version, its settings
/// and the machine.
pub(crate) fn compatibility(engine: &Engine) -> String {
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
