import assert from "node:assert/strict";
import { test } from "node:test";

import { Mock } from "stateous-routine/testing";

import draft from "./routine.ts";

test("a draft is submitted", () => {
  const mock = new Mock({ title: "a pen" });
  assert.deepEqual(mock.run(draft), { kind: "event", event: "submitted", payload: {} });
  assert.equal(mock.tokenContext().draft, "Please order: a pen.");
  assert.deepEqual(mock.notes(), ["draft 1 of a pen"]);
});

test("a second visit remembers the first", () => {
  const mock = new Mock({ title: "a pen" });
  mock.run(draft);
  mock.run(draft);
  assert.deepEqual(mock.memory(), { drafts: 2 });
});

test("a title that says nothing needs work", () => {
  const ended = new Mock({ title: "?" }).run(draft);
  assert.deepEqual(ended, { kind: "event", event: "needs-work", payload: { because: "the title is too short" } });
});
