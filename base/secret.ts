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

/**
 * What credentials look like when somebody else's error text carries them. Each begins where no other of its kind can have begun, so that a text
 * is read once: it may be megabytes that a tenant wrote.
 */
const patterns: readonly (readonly [RegExp, string | ((found: string) => string)])[] = [
  // user:password@ in a URL, up to the last @ before the path: a password may hold one unescaped
  [/(?<=[a-z0-9+.-]:\/\/)[^\s/"'<>]*@/gi, `${shown}@`],
  // a digit or sign tells a token from a word such as "authentication"
  [/\b(bearer|basic)\s+(?=\S*[0-9=+/])[a-z0-9._~+/=-]{8,}/gi, `$1 ${shown}`],
  [
    /([?&](?:sig|signature|token|[a-z_-]*(?:_token|-token|password|secret|signature|credential|api_?key))=)[^&\s"'<>]+/gi,
    `$1${shown}`,
  ],
  // what is given by name, in a command line or in a piece of JSON that is quoted
  [/((?:passw(?:or)?d|passphrase|secret|token|api_?key|private_?key)=)[^\s&"'<>,;`*][^\s&"'<>,;`]*/gi, `$1${shown}`],
  [/((?:passw(?:or)?d|passphrase|secret|token|api_?key|private_?key)\\?":[ ]?\\?")[^"\\]+/gi, `$1${shown}`],
  // private keys, to their end or to the end of what there is
  [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]*(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/g, shown],
  // JSON Web Tokens (service accounts), GitHub and GitLab tokens, wherever they stand
  [/[\w.-]+/g, withoutWebTokens],
  [/\b(?:gh[opsur]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,})/g, shown],
];

/** Three parts with dots between them, of which the first begins with `eyJ`. */
function withoutWebTokens(dotted: string): string {
  if (!dotted.includes('eyJ')) return dotted;
  const parts = dotted.split('.');
  const clean: string[] = [];
  for (let i = 0; i < parts.length; i += 1) {
    const part = parts[i] ?? '';
    const start = part.search(/\beyJ[\w-]/);
    const isToken = start >= 0 && i + 2 < parts.length && parts[i + 1] !== '';
    clean.push(isToken ? `${part.slice(0, start)}${shown}` : part);
    if (isToken) i += 2;
  }
  return clean.join('.');
}

/**
 * A text without the credentials that it seems to carry: user and password of URLs, secret query parameters, bearer and other well-known
 * tokens. A net under careful messages, not a licence to log secrets. Scrubbing twice changes nothing more.
 */
export function scrub(text: string): string {
  return patterns.reduce(
    (clean, [pattern, by]) => (typeof by === 'string' ? clean.replace(pattern, by) : clean.replace(pattern, by)),
    text,
  );
}
