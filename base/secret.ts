const secretMask = '***';

/**
 * A credential. Prints as `***` in logs, errors, JSON and inspection; `reveal` is the only access
 * to its text, so every use can be found by name.
 */
export class SecretValue {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return secretMask;
  }

  toJSON(): string {
    return secretMask;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return secretMask;
  }
}

/**
 * Forms of credentials in external error texts. No match can begin inside another of its kind, so
 * each pattern reads a text once: tenants may write megabytes.
 */
const credentialPatterns: readonly (readonly [RegExp, string | ((found: string) => string)])[] = [
  // user:password@ in a URL, up to the last @ before the path: a password may contain an unescaped
  // @
  [/(?<=[a-z0-9+.-]:\/\/)[^\s/"'<>]*@/gi, `${secretMask}@`],
  // a digit or sign distinguishes a token from a word such as "authentication"
  [/\b(bearer|basic)\s+(?=\S*[0-9=+/])[a-z0-9._~+/=-]{8,}/gi, `$1 ${secretMask}`],
  [
    /([?&](?:sig|signature|token|[a-z_-]*(?:_token|-token|password|secret|signature|credential|api_?key))=)[^&\s"'<>]+/gi,
    `$1${secretMask}`,
  ],
  // named values in a command line or in quoted JSON
  [
    /((?:passw(?:or)?d|passphrase|secret|token|api_?key|private_?key)=)[^\s&"'<>,;`*][^\s&"'<>,;`]*/gi,
    `$1${secretMask}`,
  ],
  [/((?:passw(?:or)?d|passphrase|secret|token|api_?key|private_?key)\\?":[ ]?\\?")[^"\\]+/gi, `$1${secretMask}`],
  // private keys, up to their end marker or the end of the text
  [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]*(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/g, secretMask],
  // JSON Web Tokens (service accounts), GitHub and GitLab tokens, anywhere in the text
  [/[\w.-]+/g, withoutWebTokens],
  [/\b(?:gh[opsur]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,})/g, secretMask],
];

/** Removes three dot-separated parts of which the first begins with `eyJ`. */
function withoutWebTokens(dotted: string): string {
  if (!dotted.includes('eyJ')) return dotted;
  const parts = dotted.split('.');
  const clean: string[] = [];
  for (let i = 0; i < parts.length; i += 1) {
    const part = parts[i] ?? '';
    const start = part.search(/\beyJ[\w-]/);
    const isToken = start >= 0 && i + 2 < parts.length && parts[i + 1] !== '';
    clean.push(isToken ? `${part.slice(0, start)}${secretMask}` : part);
    if (isToken) i += 2;
  }
  return clean.join('.');
}

/**
 * A part of every text that one of the patterns above matches. Most texts have none, and one search
 * is a tenth of the work.
 */
const credentialMark = /[@=]|":|\b(?:bearer|basic)\s|-----BEGIN|eyJ|gh[opsur]_|github_pat_|glpat-/i;

/**
 * Removes recognizable credentials: user info of URLs, secret query parameters, bearer and other
 * well-known tokens. A safety net under careful messages, not a licence to log secrets. Idempotent.
 */
export function scrub(text: string): string {
  return credentialMark.test(text) ? scrubAll(text) : text;
}

/** {@link scrub} without the search for texts that need nothing. */
export function scrubAll(text: string): string {
  return credentialPatterns.reduce(
    (clean, [pattern, by]) => (typeof by === 'string' ? clean.replace(pattern, by) : clean.replace(pattern, by)),
    text,
  );
}
