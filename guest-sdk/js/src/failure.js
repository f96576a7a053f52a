// A failed attempt, and a host that says no.

/**
 * Why the attempt failed. The message goes into the token's history. Throw one; whatever else is thrown counts as a
 * retryable failure with its name, message and stack.
 */
export class Failure extends Error {
  name = "Failure";

  constructor(message, { retry, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.retry = retry ?? true;
  }

  /** A failure after which another attempt makes sense, if the state has retries left. */
  static retryable(message, options) {
    return new Failure(message, { ...options, retry: true });
  }

  /** A failure that no other attempt would change: it spends the task's remaining retries. */
  static fatal(message, options) {
    return new Failure(message, { ...options, retry: false });
  }
}

/** The host refused a call. Caught, the routine goes on; otherwise it ends the attempt as a retryable failure. */
export class Refusal extends Error {
  name = "Refusal";

  constructor(code, message) {
    super(message);
    /** Stable, for programs: `too_large`, `invalid_json`, `invalid_key`, `too_many`, `invalid_event`, … */
    this.code = code;
  }
}
