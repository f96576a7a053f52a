// The second desk, in TypeScript: puts a label on the parcel.

import { Failure, event, routine } from "stateous-routine";

interface Stamp {
  desk: string;
  language: string;
}

interface Parcel {
  title: string;
  contents: { name: string; grams: number | bigint; tags: string[] }[];
  journey: Stamp[];
}

interface Events {
  labelled: { serial: bigint; says: string };
}

export default routine<Parcel, Events>((ctx) => {
  const { title, contents, journey } = ctx.data;
  // A number too large for a double comes as a bigint.
  const serial = BigInt(ctx.enteredBy.payload.serial);

  const noted = ctx.memory.get("noted");
  if (noted === undefined) {
    ctx.memory.set("noted", { title, serial, contents });
    throw Failure.retryable("label was interrupted");
  }
  const isWhole = noted.title === title && BigInt(noted.serial) === serial && same(noted.contents, contents);
  if (!isWhole) throw Failure.fatal("label forgot something");

  ctx.note(`labelled: ${title} 🏷️`);
  ctx.set("label", { text: `${title} ✉`, tags: contents.flatMap((thing) => thing.tags) });
  ctx.set("journey", [...journey, { desk: "label", language: "TypeScript" }]);
  return event("labelled", { serial: serial + 1n, says: "ラベルを貼りました 🏷️" });
});

const digits = (_key: string, value: unknown) => (typeof value === "bigint" ? `${value}n` : value);
const same = (left: unknown, right: unknown) => JSON.stringify(left, digits) === JSON.stringify(right, digits);
