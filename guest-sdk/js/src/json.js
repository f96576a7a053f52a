// JSON without loss: an integer that a number cannot hold becomes a bigint, and a bigint is written digit for digit.

/** Only text with so many digits in a row can hold an integer that a number does not. */
const MAYBE_BIG = /\d{16}/;
const INTEGER = /^-?\d+$/;

/** Reads JSON text. Integers beyond `Number.MAX_SAFE_INTEGER` are bigints. */
export function parse(text) {
  if (!MAYBE_BIG.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_key, value, context) => {
    const isBig = typeof value === "number" && !Number.isSafeInteger(value) && INTEGER.test(context.source);
    return isBig ? BigInt(context.source) : value;
  });
}

/** Writes JSON text; `undefined` when there is no JSON for the value, such as for a function. */
export function stringify(value) {
  return JSON.stringify(value, (_key, value) => (typeof value === "bigint" ? JSON.rawJSON(String(value)) : value));
}
