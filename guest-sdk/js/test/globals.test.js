// The globals that the SDK adds in the sandbox are the standard's: compared with node's own.

import assert from "node:assert/strict";
import { registerHooks } from "node:module";
import { test } from "node:test";

// The contract's modules exist in the sandbox only.
registerHooks({
  resolve: (name, context, next) =>
    name.startsWith("stateous:") ? { url: `data:text/javascript,export const write = () => {}`, shortCircuit: true } : next(name, context),
});
const standard = { TextEncoder, TextDecoder };
delete globalThis.TextEncoder;
delete globalThis.TextDecoder;
await import("../src/globals.js");
const ours = { TextEncoder, TextDecoder };
Object.assign(globalThis, standard);

test("text becomes UTF-8 and comes back", () => {
  for (const text of ["", "plain", "naïve", "日本語", "🖋 and \u{10ffff}", "\0\n", "lone \ud800 half"]) {
    const bytes = new ours.TextEncoder().encode(text);
    assert.deepEqual([...bytes], [...new standard.TextEncoder().encode(text)], JSON.stringify(text));
    assert.equal(new ours.TextDecoder().decode(bytes), new standard.TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
  }
});

test("what is not UTF-8 is told by replacement characters", () => {
  for (const bytes of [[0x80], [0xc0, 0x80], [0xf5, 0x41], [0x61, 0xff, 0x62], [0xed, 0xa0, 0x80], [0xe2, 0x82]]) {
    const text = new ours.TextDecoder().decode(new Uint8Array(bytes));
    assert.ok(text.includes("\ufffd"), String(bytes));
  }
  assert.equal(new ours.TextDecoder().decode(new Uint8Array([0x61, 0xff, 0x62])), "a\ufffdb");
});
