import { scrub } from './secret.ts';

/**
 * What a text that was not written here comes from:
 * - `server`: the message of an API server's answer (Status). About a Secret: see {@link OutsideOptions.instead}
 * - `page`: an answer that is no Status, of a proxy or a load balancer
 * - `program`: stderr and command lines of git, helm, kustomize, jsonnet, gpg
 * - `credential plugin`: stderr of a program whose trade is credentials. Nothing of it is shown but well-known names of failures
 * - `parser`: why a text is no YAML or JSON. What the parser quotes of the text is not shown: the text may be a Secret
 * - `url`: an address. User, password and secret parameters are not shown
 * - `rpc`: the answer of a repo-server, of a plugin's sidecar, or of Redis
 * - `script`: what a Lua or jq program says. About a Secret: nothing
 * - `system`: an error of Node or of the machine (files, sockets, TLS)
 * - `field`: a value on its way to the log
 */
export type OutsideSource =
  'server' | 'page' | 'program' | 'credential plugin' | 'parser' | 'url' | 'rpc' | 'script' | 'system' | 'field';

export interface OutsideOptions {
  /** Credentials and values that the other side was given, and may repeat. Taken out as they are, percent-encoded, in base64, and as JSON has them (of Node and of Go). */
  readonly hidden?: readonly string[];
  /** The text is about an object whose values nobody may see: what is shown in its place, made of the text without `hidden` and controls. */
  readonly instead?: (text: string) => string;
}

interface Treatment {
  readonly limit: number;
  /** `first`: of several lines only the first is shown; `one`: they become one. */
  readonly lines?: 'first' | 'one';
  readonly also?: (text: string) => string;
}

const treatments: Readonly<Record<OutsideSource, Treatment>> = {
  server: { limit: 32_768 },
  page: { limit: 200, lines: 'one' },
  program: { limit: 65_536, also: withoutGoMaps },
  'credential plugin': { limit: 200, also: failuresIn },
  parser: { limit: 500, lines: 'one', also: withoutQuotes },
  url: { limit: 2048, lines: 'one' },
  rpc: { limit: 8192, also: withoutGoMaps },
  script: { limit: 16_384 },
  system: { limit: 2048, lines: 'first' },
  field: { limit: 65_536 },
};

/**
 * The one way of a text from outside into messages, conditions, Events, logs, metrics and answers. What comes back
 * - holds none of `hidden`, in any of its usual forms, and nothing that looks like a credential ({@link scrub})
 * - holds no escape sequence or other control character but line ends and tabs: it can be shown on a terminal
 * - is not longer than its source needs
 * - of an object whose values nobody may see: reason and field paths, never the words
 *
 * Whoever makes an error of such a text calls this at the place where the text comes in; behind it messages are safe to pass on. Passing one twice
 * changes nothing that matters. Time in proportion to the text.
 */
export function outsideText(source: OutsideSource, text: string, options: OutsideOptions = {}): string {
  // Whoever writes past a schema gives numbers where texts are meant.
  const said: unknown = text;
  const given = typeof said === 'string' ? said : JSON.stringify([said]);
  const { limit, lines, also } = treatments[source];
  const { hidden = [], instead } = options;
  // No more is worked on than anybody is to read, and far more than is shown: a credential that is cut off is no longer known as one.
  const bounded = withoutControls(given.length > workLimit ? given.slice(0, workLimit) : given);
  if (instead !== undefined) return scrub(instead(withoutValues(bounded, hidden)));
  const shown = lines === 'first' ? (bounded.split('\n', 1)[0] ?? '') : bounded;
  const clean = scrub(withoutValues(shown, hidden));
  const treated = also === undefined ? clean : also(clean);
  return (lines === 'one' ? treated.trim().replace(/\s+/g, ' ') : treated).slice(0, limit);
}

const workLimit = 1024 * 1024;

/** Sequences that move the cursor, colour, or set a title, then every other control and every mark that turns the direction of writing. */
const sequences = /\u001b\[[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b\n]*(?:\u0007|\u001b\\)?/g;
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

function withoutControls(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(sequences, '').replace(controls, '');
}

/** A value of fewer characters is taken out only where it stands alone: it would be found in half the words. */
const shortValue = 4;

function withoutValues(text: string, hidden: readonly string[]): string {
  // The text has lost its controls by now, so a value is looked for without its own, too.
  const values = hidden.flatMap((value) => [value, withoutControls(value)]);
  const forms = [...new Set(values.flatMap(formsOf))].sort((a, b) => b.length - a.length);
  return forms.reduce(
    (clean, form) =>
      form.length >= shortValue
        ? clean.replaceAll(form, '***')
        : clean.replace(new RegExp(`(?<!\\w)${escaped(form)}(?!\\w)`, 'g'), '***'),
    text,
  );
}

function formsOf(value: string): string[] {
  const plain = [value, value.trim()];
  // A key or certificate of several lines is quoted line by line.
  const lines = value.includes('\n') ? value.split('\n').filter((line) => line.trim().length >= 16) : [];
  const bytes = Buffer.from(value);
  const packed =
    value.length >= shortValue ? [bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url')] : [];
  const json = JSON.stringify(value).slice(1, -1);
  const forms = [...plain, ...packed, ...percent(value), json, json.replace(/[<>&]/g, goEscape)];
  return [...forms, ...lines].filter((form) => form !== '');
}

/** As Node has it, and as Go has it in the parameters of an address. Lone surrogates have no such form. */
function percent(value: string): string[] {
  try {
    const text = encodeURIComponent(value);
    const inQuery = text.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
    return [text, inQuery, inQuery.replaceAll('%20', '+')];
  } catch {
    return [];
  }
}

/** Go's JSON may be put into a page. */
function goEscape(char: string): string {
  return `\\u00${char.charCodeAt(0).toString(16)}`;
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

/** Go prints maps with all their values: helm does so with the values of a chart. Without a colon it is the name of a type. */
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

/** Behind the bracket that closes the one at `open`; the end of its line when none does. */
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

const quoted = /"[^"]*"?|'[^']*'|!<[^>]*>?|`[^`]*`?|[*&!][^\s,]+/g;

/** A parser quotes what it stumbles over, or ends with it: that may be a value of a Secret, such as a password that begins with `*` or `!`. */
function withoutQuotes(text: string): string {
  return text.replace(/: .*$/s, ': ***').replace(quoted, '***');
}

/** Names that programs have for what went wrong. None of them can be a credential. */
const failures =
  /\b(?:AccessDenied(?:Exception)?|ExpiredToken(?:Exception)?|InvalidClientTokenId|InvalidIdentityToken|NoCredentialProviders|Throttling(?:Exception)?|Unauthorized|Forbidden|invalid_grant|invalid_client|connection refused|no such host|i\/o timeout|context deadline exceeded|permission denied|no such file or directory|certificate signed by unknown authority|certificate has expired|command not found|executable file not found)\b/gi;

function failuresIn(text: string): string {
  return [...new Set(text.match(failures) ?? [])].join(', ');
}

/** An address in two: without user and password, and these, decoded. What is no address comes back as it is. */
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
    ...(user === '' ? {} : { username: decoded(user) }),
    ...(word === '' ? {} : { password: decoded(word) }),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
