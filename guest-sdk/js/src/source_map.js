// Stacks in the author's own files: the engine counts in the bundle, build.mjs says what stands where.

const PLACE = /([^\s(]+):(\d+):(\d+)(\)?)$/;

/**
 * A stack with each place of the bundle replaced by the place in the source.
 *
 * `places` is `{ sources, lines }`: for a line of the bundle its segments `[column, source, line, column]`, sorted, all
 * counted from 0; `[column]` alone ends what came before. What is not there is the SDK's own, and left out: it says
 * nothing to a routine's author.
 */
export function inSources(stack, places) {
  if (places === undefined || stack === "") return stack;
  const lines = stack.split("\n").map((line) => {
    const found = PLACE.exec(line);
    if (found === null) return line;
    const column = Number(found[3]) - 1;
    const segments = places.lines[Number(found[2]) - 1] ?? [];
    const segment = segments.findLast(([from]) => from <= column);
    if (segment === undefined || segment.length === 1) return undefined;
    const [, source, sourceLine, sourceColumn] = segment;
    return `${line.slice(0, found.index)}${places.sources[source]}:${sourceLine + 1}:${sourceColumn + 1}${found[4]}`;
  });
  return lines.filter((line) => line !== undefined).join("\n");
}
