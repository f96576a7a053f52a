//! The scan that keeps compile bombs away from Cranelift.
//!
//! Compiling one function with L locals and B bytes of branchy code costs about L×B: 316 M took over 200 s
//! and 11.5 GiB, 15.6 M takes 13 s, and the largest found in real guests (SpiderMonkey) is 9 M. Compiling
//! cannot be stopped from inside, so what is far above every real guest is refused before it starts. The
//! bounded child process of the runtime is the guarantee; this is the cheap first door.

use wasmparser::{FunctionBody, Parser, Payload};

use crate::problem::{Problem, ProblemCode};

/// Locals × body bytes of one function.
const PRODUCT_MAX: u128 = 12_000_000;
/// The same, summed over all functions.
const SUM_MAX: u128 = 200_000_000;
const LOCALS_MAX: u64 = 1_000;
const BODY_BYTES_MAX: u64 = 1 << 20;

/// Refuses a component or module whose compilation could take minutes and gigabytes. Takes about 3 ms for 12
/// MB.
pub fn prescan(bytes: &[u8]) -> Result<(), Problem> {
    let malformed =
        |e| Problem::new(ProblemCode::InvalidWasm, format!("it cannot be read: {e}. Build it again"));
    let mut sum = 0u128;
    for payload in Parser::new(0).parse_all(bytes) {
        if let Payload::CodeSectionEntry(body) = payload.map_err(malformed)? {
            sum += cost(&body).map_err(malformed)??;
        }
    }
    if sum > SUM_MAX {
        return Err(bomb(&format!(
            "the functions of it have locals × bytes of {sum} in all (at most {SUM_MAX})"
        )));
    }
    Ok(())
}

/// Locals × bytes of one function; the inner error names the limit that it breaks.
fn cost(body: &FunctionBody<'_>) -> Result<Result<u128, Problem>, wasmparser::Error> {
    let range = body.range();
    let bytes = range.end - range.start;
    let mut locals = 0u64;
    for group in body.get_locals_reader()? {
        locals += u64::from(group?.0);
    }
    let product = u128::from(locals) * u128::from(bytes);
    let at = format!("the function at byte {:#x}", range.start);
    Ok(if locals > LOCALS_MAX {
        Err(bomb(&format!("{at} has {locals} locals (at most {LOCALS_MAX})")))
    } else if bytes > BODY_BYTES_MAX {
        Err(bomb(&format!("{at} has {bytes} bytes (at most {BODY_BYTES_MAX})")))
    } else if product > PRODUCT_MAX {
        Err(bomb(&format!("{at} has locals × bytes of {product} (at most {PRODUCT_MAX})")))
    } else {
        Ok(product)
    })
}

fn bomb(what: &str) -> Problem {
    let message = format!(
        "{what}: compiling it could take minutes and gigabytes. Split the large functions, or build for size"
    );
    Problem::new(ProblemCode::CompileBomb, message)
}
