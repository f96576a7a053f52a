interface Unused {
  // Types are gone in the bundle, so that no line stands where it stood.
  field: string;
}

export function look(message: string): void {
  throw new Error(message satisfies Unused["field"]);
}
