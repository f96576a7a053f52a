//! The one place where `wit/routine.wit` is bound: everything in here is generated.

wasmtime::component::bindgen!({
    world: "routine",
    path: "../../wit",
    imports: { default: async | trappable },
    exports: { default: async },
});
