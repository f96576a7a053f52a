//! Every size that a caller can run into, in one place, so that no two doors disagree.

/// The longest token id, child ids included, in characters.
pub const TOKEN_ID: usize = 128;
/// The longest workflow, state or event name, in characters.
pub const NAME: usize = 64;
/// The longest state name in a claim: `<workflow>/<state>`.
pub const CLAIM_STATE: usize = 129;
/// The most state names in a claim, and the most task ids in a heartbeat.
pub const ITEMS: usize = 1000;
/// The most tasks that one claim may ask for.
pub const CLAIM_TASKS: u32 = 1000;
/// The longest supervisor name, in characters.
pub const SUPERVISOR: usize = 256;
/// The longest idempotency key, in characters.
pub const KEY: usize = 256;
/// The longest claim request id, in characters.
pub const REQUEST: usize = 64;
/// The longest note, in characters, after the blanks at its ends are cut.
pub const NOTE: usize = 500;
/// The longest memory key, in characters.
pub const MEMORY_KEY: usize = 128;
/// The most bytes of memory that one (token, state) may hold, keys and values together.
pub const MEMORY_BYTES: u64 = 16 << 20;
/// The largest request body, in bytes.
pub const BODY: usize = 1 << 20;
/// The deepest nesting of a body; the outer object counts as one.
pub const DEPTH: usize = 64;
/// The most digits of one number in a body.
pub const DIGITS: usize = 4300;
/// The most bytes of contexts and memories in one claim's answer; a single grant may be larger.
pub const CLAIM_BYTES: usize = 8 << 20;
/// The largest task id or attempt that travels.
pub const TASK_ID: u64 = i64::MAX as u64;
/// The most rows of one listing.
pub const LISTING: u32 = 1000;

/// A task goes back into the queue without a failure so many times; the next time counts as one.
pub const RETURNS: u64 = 10;
