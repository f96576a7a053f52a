// What the engine lacks and nearly every package expects: `console`, `TextEncoder`, `TextDecoder`.

import { write } from "stateous:routine/log@0.1.0";

const shown = (values) => values.map((value) => (typeof value === "string" ? value : described(value))).join(" ");

function described(value) {
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  try {
    return JSON.stringify(value, (_key, inner) => (typeof inner === "bigint" ? `${inner}n` : inner)) ?? String(value);
  } catch {
    return String(value);
  }
}

globalThis.console ??= Object.freeze({
  debug: (...values) => write("debug", shown(values)),
  log: (...values) => write("info", shown(values)),
  info: (...values) => write("info", shown(values)),
  warn: (...values) => write("warn", shown(values)),
  error: (...values) => write("error", shown(values)),
});

/** UTF-8 only, as the standard's encoder. */
globalThis.TextEncoder ??= class TextEncoder {
  encoding = "utf-8";

  encode(text = "") {
    const bytes = [];
    for (const character of text.toWellFormed()) {
      const point = character.codePointAt(0);
      if (point < 0x80) bytes.push(point);
      else if (point < 0x800) bytes.push(0xc0 | (point >> 6), tail(point));
      else if (point < 0x10000) bytes.push(0xe0 | (point >> 12), tail(point >> 6), tail(point));
      else bytes.push(0xf0 | (point >> 18), tail(point >> 12), tail(point >> 6), tail(point));
    }
    return new Uint8Array(bytes);
  }
};

/** UTF-8 only; what is not UTF-8 becomes U+FFFD. */
globalThis.TextDecoder ??= class TextDecoder {
  encoding = "utf-8";

  decode(bytes = new Uint8Array()) {
    const from = ArrayBuffer.isView(bytes)
      ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      : new Uint8Array(bytes);
    let text = "";
    for (let at = 0; at < from.length; ) {
      const [point, length] = decoded(from, at);
      text += String.fromCodePoint(point);
      at += length;
    }
    return text;
  }
};

const tail = (point) => 0x80 | (point & 0x3f);
const REPLACEMENT = [0xfffd, 1];

function decoded(bytes, at) {
  const first = bytes[at];
  if (first < 0x80) return [first, 1];
  const length = first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
  if (length === 0 || at + length > bytes.length) return REPLACEMENT;
  let point = first & (0x7f >> length);
  for (let next = at + 1; next < at + length; next += 1) {
    if ((bytes[next] & 0xc0) !== 0x80) return REPLACEMENT;
    point = (point << 6) | (bytes[next] & 0x3f);
  }
  const least = [0, 0, 0x80, 0x800, 0x10000][length];
  const isText = point >= least && point <= 0x10ffff && !(point >= 0xd800 && point < 0xe000);
  return isText ? [point, length] : REPLACEMENT;
}
