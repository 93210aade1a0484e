const shown = '***';

/**
 * A credential. It prints as `***` wherever it lands by accident (logs, errors, JSON, inspection); `reveal` is the one way
 * to its text, so that every use can be found by name.
 */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return shown;
  }

  toJSON(): string {
    return shown;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return shown;
  }
}

/** Removes user, password and query from URLs inside a text, and anything that looks like a bearer token. */
export function scrub(text: string): string {
  return text
    .replace(/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@:]*(?::[^\s/@]*)?@/gi, `$1${shown}@`)
    .replace(/\b(bearer|basic)\s+[a-z0-9._~+/=-]{8,}/gi, `$1 ${shown}`)
    .replace(/([?&](?:sig|token|access_token|password|secret)=)[^&\s]+/gi, `$1${shown}`);
}
