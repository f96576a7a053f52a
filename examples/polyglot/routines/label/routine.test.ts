import assert from "node:assert/strict";
import { test } from "node:test";

import { Mock } from "stateous-routine/testing";

import label from "./routine.ts";

test("an interrupted label goes on from its note, with every digit", () => {
  const mock = new Mock({ title: "a pen", contents: [], journey: [] });
  mock.enteredBy("accepted", { serial: 123456789012345678901234567890n, says: "hi" });
  assert.equal(mock.run(label).kind, "failed");
  const ended = mock.run(label);
  assert.equal(ended.kind === "event" && ended.payload.serial, 123456789012345678901234567891n);
});
