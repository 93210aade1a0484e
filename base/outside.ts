import { scrub } from './secret.ts';

/**
 * Where an external text comes from. The source decides how much of it is safe to show:
 * - `server`: the message of an API server's Status. About a Secret: see
 *   {@link OutsideOptions.instead}
 * - `page`: a response that is no Status, from a proxy or load balancer
 * - `program`: stderr and command lines of git, helm, kustomize, jsonnet, gpg
 * - `credential plugin`: stderr of a program that handles credentials; only well-known failure
 *   names are shown
 * - `parser`: why a text is not YAML or JSON. Quoted parts are hidden: the text may be a Secret
 * - `url`: an address, shown without user, password and secret parameters
 * - `rpc`: a response of a repo-server, a plugin sidecar or Redis
 * - `script`: the message of a Lua or jq program; hidden completely for a Secret
 * - `system`: an error of Node or the operating system (files, sockets, TLS)
 * - `field`: a value for the log
 * - `log`: the log of a container, which may hold more than this bound
 */
export type OutsideSource =
  | 'server'
  | 'page'
  | 'program'
  | 'credential plugin'
  | 'parser'
  | 'url'
  | 'rpc'
  | 'script'
  | 'system'
  | 'field'
  | 'log';

export interface OutsideOptions {
  /**
   * Credentials and values that the other side received and may repeat. Removed in plain,
   * percent-encoded, base64 and JSON form (as Node and as Go write it).
   */
  readonly hidden?: readonly string[];
  /**
   * Replaces a text about an object whose values are confidential. Receives the text without
   * `hidden` values and control characters.
   */
  readonly instead?: (text: string) => string;
}

interface SourceTreatment {
  readonly limit: number;
  /** How to show several lines: `first` shows only the first, `one` joins them. */
  readonly lines?: 'first' | 'one';
  readonly also?: (text: string) => string;
}

const treatmentOf: Readonly<Record<OutsideSource, SourceTreatment>> = {
  server: { limit: 32_768 },
  page: { limit: 200, lines: 'one' },
  program: { limit: 65_536, also: withoutGoMaps },
  'credential plugin': { limit: 200, also: failureNamesIn },
  parser: { limit: 500, lines: 'one', also: withoutQuotes },
  url: { limit: 2048, lines: 'one' },
  rpc: { limit: 8192, also: withoutGoMaps },
  script: { limit: 16_384 },
  system: { limit: 2048, lines: 'first' },
  field: { limit: 65_536 },
  log: { limit: 131_072 },
};

/**
 * The only path by which external text enters messages, conditions, Events, logs, metrics and
 * responses. The result contains no `hidden` value in any of its usual forms, no recognizable
 * credential ({@link scrub}) and no control character except line breaks and tabs (safe on a
 * terminal), and is bounded in length. With `instead` it holds reason and field paths only.
 * Call it where the text enters the program; messages built from it are then safe to pass on. A
 * second call changes nothing that matters. Takes time linear in the text.
 */
export function outsideText(source: OutsideSource, text: string, options: OutsideOptions = {}): string {
  // Untyped sources may pass a number where a text is declared.
  const untyped: unknown = text;
  const given = typeof untyped === 'string' ? untyped : JSON.stringify([untyped]);
  const { limit, lines, also } = treatmentOf[source];
  const { hidden = [], instead } = options;
  // Bounds the work, yet keeps far more than is shown: a truncated credential is no longer
  // recognizable.
  const bounded = withoutControls(given.length > maxTextLength ? given.slice(0, maxTextLength) : given);
  if (instead !== undefined) return scrub(instead(withoutValues(bounded, hidden)));
  const shown = lines === 'first' ? (bounded.split('\n', 1)[0] ?? '') : bounded;
  const clean = scrub(withoutValues(shown, hidden));
  const treated = also === undefined ? clean : also(clean);
  return (lines === 'one' ? treated.trim().replace(/\s+/g, ' ') : treated).slice(0, limit);
}

const maxTextLength = 1024 * 1024;

/**
 * Sequences that move the cursor, set colours or a title; then all other controls and marks that
 * change the writing direction.
 */
const escapeSequences = /\u001b\[[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b\n]*(?:\u0007|\u001b\\)?/g;
const controlCharacters = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** One of the characters that {@link withoutControls} removes: escape sequences begin with one. */
const controlMark = new RegExp(controlCharacters.source);

function withoutControls(text: string): string {
  if (!controlMark.test(text)) return text;
  return text.replaceAll('\r\n', '\n').replace(escapeSequences, '').replace(controlCharacters, '');
}

/** Shorter values are removed only where they stand alone: they occur inside many words. */
const shortValueLength = 4;
/** Shorter lines of a value stay: they are often plain words of a configuration. */
const shortLineLength = 8;

function withoutValues(text: string, hidden: readonly string[]): string {
  if (hidden.length === 0) return text;
  // The text has no controls left, so also search for the value without its controls.
  const values = hidden.flatMap((value) => [value, withoutControls(value)]);
  const forms = [...new Set(values.flatMap(encodedForms))].sort((a, b) => b.length - a.length);
  return forms.reduce(
    (clean, form) =>
      form.length >= shortValueLength
        ? clean.replaceAll(form, '***')
        : clean.replace(new RegExp(`(?<!\\w)${escapeRegex(form)}(?!\\w)`, 'g'), '***'),
    text,
  );
}

function encodedForms(value: string): string[] {
  const plain = [value, value.trim()];
  // A key or certificate of several lines may be quoted line by line.
  const lines = value.includes('\n') ? value.split('\n').filter((line) => line.trim().length >= shortLineLength) : [];
  const bytes = Buffer.from(value);
  const packed =
    value.length >= shortValueLength ? [bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url')] : [];
  const json = JSON.stringify(value).slice(1, -1);
  const forms = [...plain, ...packed, ...percentEncodedForms(value), json, json.replace(/[<>&]/g, goJsonEscape)];
  return [...forms, ...lines].filter((form) => form !== '');
}

/** As Node and as Go encode it in a query. Lone surrogates cannot be encoded. */
function percentEncodedForms(value: string): string[] {
  try {
    const text = encodeURIComponent(value);
    const inQuery = text.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
    return [text, inQuery, inQuery.replaceAll('%20', '+')];
  } catch {
    return [];
  }
}

/** Go's JSON escapes HTML characters. */
function goJsonEscape(char: string): string {
  return `\\u00${char.charCodeAt(0).toString(16)}`;
}

function escapeRegex(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

/**
 * Go prints maps with all values; helm prints chart values that way. Without a colon it is the name
 * of a type.
 */
function withoutGoMaps(text: string): string {
  let out = '';
  let from = 0;
  for (let at = text.indexOf('map['); at >= 0; at = text.indexOf('map[', from)) {
    const end = endOfBrackets(text, at + 3);
    out += `${text.slice(from, at)}${text.slice(at, end).includes(':') ? 'map[***]' : text.slice(at, end)}`;
    from = end;
  }
  return out + text.slice(from);
}

/**
 * The index after the bracket that closes the one at `open`, or the end of its line if none does.
 */
function endOfBrackets(text: string, open: number): number {
  let depth = 0;
  for (let i = open; i < text.length; i += 1) {
    const char = text[i];
    if (char === '\n') return i;
    if (char === '[') depth += 1;
    else if (char === ']') {
      depth -= 1;
      if (depth === 0) return i + 1;
    }
  }
  return text.length;
}

const quotedText = /"[^"]*"?|'[^']*'|!<[^>]*>?|`[^`]*`?|[*&!][^\s,]+/g;

/**
 * A parser quotes the offending text or ends with it, which may be a value of a Secret, such as a
 * password that begins with `*` or `!`.
 */
function withoutQuotes(text: string): string {
  return text.replace(/: .*$/s, ': ***').replace(quotedText, '***');
}

/** Well-known names of failures. None of them can be a credential. */
const failureNames =
  /\b(?:AccessDenied(?:Exception)?|ExpiredToken(?:Exception)?|InvalidClientTokenId|InvalidIdentityToken|NoCredentialProviders|Throttling(?:Exception)?|Unauthorized|Forbidden|invalid_grant|invalid_client|connection refused|no such host|i\/o timeout|context deadline exceeded|permission denied|no such file or directory|certificate signed by unknown authority|certificate has expired|command not found|executable file not found)\b/gi;

function failureNamesIn(text: string): string {
  return [...new Set(text.match(failureNames) ?? [])].join(', ');
}

/**
 * Splits a URL into the URL without user info, and the decoded user and password. Other text is
 * returned unchanged.
 */
export function splitUserInfo(url: string): {
  readonly url: string;
  readonly username?: string;
  readonly password?: string;
} {
  const begin = url.indexOf('://') + 3;
  const length = begin < 3 ? 0 : url.slice(begin).search(/[/?#]|$/);
  const at = url.slice(0, begin + length).lastIndexOf('@');
  if (length === 0 || at < begin) return { url };
  const info = url.slice(begin, at);
  const colon = info.indexOf(':');
  const [user, word] = colon < 0 ? [info, ''] : [info.slice(0, colon), info.slice(colon + 1)];
  return {
    url: url.slice(0, begin) + url.slice(at + 1),
    ...(user === '' ? {} : { username: percentDecoded(user) }),
    ...(word === '' ? {} : { password: percentDecoded(word) }),
  };
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
