import type { JsonObject } from '#base';
import { defined, parseJson } from '#base';

/** A commit that a trailer of the dry commit names, such as the code change behind it. */
export interface RelatedCommit {
  readonly author?: string;
  readonly date?: string;
  readonly subject?: string;
  readonly body?: string;
  readonly sha?: string;
  readonly repoURL?: string;
}

/** The dry commit that manifests were rendered from. */
export interface DryCommit {
  /** `Name <address>`. */
  readonly author: string;
  /** Seconds since 1970. */
  readonly authoredAt: number | undefined;
  readonly message: string;
  readonly references: readonly RelatedCommit[];
}

/** The record of the dry commit in a hydrated one (file hydrator.metadata). */
export interface HydratorMetadata {
  readonly repoURL: string;
  readonly drySha: string;
  readonly commands?: readonly string[];
  readonly author?: string;
  readonly date?: string;
  readonly subject?: string;
  readonly body?: string;
  readonly references?: readonly RelatedCommit[];
}

/** The metadata for the root of the branch and for the template of the commit message. */
export function metadataOf(repoURL: string, drySha: string, commit: DryCommit): HydratorMetadata {
  const cut = commit.message.indexOf('\n\n');
  const subject = cut < 0 ? commit.message : commit.message.slice(0, cut);
  const { rest } = readTrailers(cut < 0 ? '' : commit.message.slice(cut + 2));
  return {
    repoURL,
    drySha,
    author: commit.author,
    date: commit.authoredAt === undefined ? '' : rfc3339(commit.authoredAt),
    subject,
    body: rest,
    references: commit.references,
  };
}

function rfc3339(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString().replace(/\.\d+Z$/, 'Z');
}

/** The metadata as JSON with the order of Argo CD's fields; empty ones are left out. */
export function metadataJson(metadata: HydratorMetadata): JsonObject {
  const { repoURL, drySha, commands = [], author, date, subject, body, references = [] } = metadata;
  const filled = (text: string | undefined): string | undefined => (text === '' ? undefined : text);
  return defined({
    repoURL: filled(repoURL),
    drySha: filled(drySha),
    commands: commands.length === 0 ? undefined : [...commands],
    author: filled(author),
    date: filled(date),
    subject: filled(subject),
    body: filled(body),
    references: references.length === 0 ? undefined : references.map((commit) => ({ commit: relatedJson(commit) })),
  });
}

function relatedJson({ author, date, subject, body, sha, repoURL }: RelatedCommit): JsonObject {
  return defined({ author, date, subject, body, sha, repoURL });
}

const trailerPrefix = 'Argocd-reference-commit-';

/**
 * Reads the trailers that name a related commit; the last of a kind wins. Lines that are no valid
 * trailer stay in `rest` (Argo CD: util/git GetReferences).
 */
export function readTrailers(text: string): { readonly related: RelatedCommit | undefined; readonly rest: string } {
  let related: RelatedCommit = {};
  let rest = '';
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  for (const line of lines) {
    const found = trailerOf(line.replace(/\r$/, ''));
    if (found === undefined) rest += `${line}\n`;
    else related = { ...related, ...found };
  }
  return { related: Object.keys(related).length === 0 ? undefined : related, rest };
}

function trailerOf(line: string): RelatedCommit | undefined {
  const at = line.indexOf(': ');
  if (!line.startsWith(trailerPrefix) || at < 0) return undefined;
  const value = line.slice(at + 2);
  switch (line.slice(trailerPrefix.length, at)) {
    case 'repourl':
      return /[\0-\x20\x7f]/.test(value) ? undefined : { repoURL: value };
    case 'author':
      return wrapped('author', mailAddress(value));
    case 'date':
      return wrapped('date', goTime(value));
    case 'subject':
      return { subject: value };
    case 'body':
      return wrapped('body', jsonText(value));
    case 'sha':
      return /^[0-9a-f]{5,40}$/.test(value) ? { sha: value } : undefined;
    default:
      return undefined;
  }
}

function wrapped(name: 'author' | 'date' | 'body', value: string | undefined): RelatedCommit | undefined {
  return value === undefined ? undefined : { [name]: value };
}

/** The address in the form that Go prints; undefined if it is none. */
function mailAddress(value: string): string | undefined {
  const parts = /^\s*(?:"((?:[^"\\]|\\.)*)"|([^<>"]*?))\s*<([^<>@\s]+@[^<>@\s]+)>\s*$/.exec(value);
  if (parts === null) return /^[^<>@\s]+@[^<>@\s]+$/.test(value.trim()) ? `<${value.trim()}>` : undefined;
  const name = parts[1]?.replace(/\\(.)/g, '$1') ?? parts[2] ?? '';
  if (name === '') return `<${parts[3] ?? ''}>`;
  const shown = /^[\x20-\x7e\t]*$/.test(name) ? `"${name.replace(/["\\]/g, '\\$&')}"` : encodedWord(name);
  return `${shown} <${parts[3] ?? ''}>`;
}

function encodedWord(name: string): string {
  const bytes = [...Buffer.from(name, 'utf8')];
  const quoted = bytes.map((byte) => {
    const char = String.fromCharCode(byte);
    if (byte === 0x20) return '_';
    return byte > 0x20 && byte < 0x7f && !'=?_'.includes(char)
      ? char
      : `=${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  });
  return `=?utf-8?q?${quoted.join('')}?=`;
}

const rfc3339Form = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.\d+)?(Z|[-+]\d{2}:\d{2})$/;

function goTime(value: string): string | undefined {
  const parts = rfc3339Form.exec(value);
  if (parts === null || Number.isNaN(Date.parse(value))) return undefined;
  return `${parts[1] ?? ''}${parts[2] === '+00:00' ? 'Z' : (parts[2] ?? '')}`;
}

function jsonText(value: string): string | undefined {
  try {
    const parsed = parseJson(value);
    return typeof parsed === 'string' ? parsed : undefined;
  } catch {
    return undefined;
  }
}
