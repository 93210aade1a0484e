import { compileGlob } from '#base';
import { toLower, trimSpace } from './go-text.ts';
import { goUrl } from './go-url.ts';

/**
 * Normalizes a repository URL or pattern like Argo CD (util/git NormalizeGitURL): trimmed, lower
 * case, `user@host:path` as an ssh URL, without `.git` and `ssh://`, formatted like Go's net/url;
 * "" for what Go cannot parse.
 */
export function comparableUrl(url: string): string {
  const text = withoutScp(toLower(trimSpace(url))).replace(/\.git$/, '');
  return (goUrl(text) ?? '').replace(/^ssh:\/\//, '');
}

function withoutScp(text: string): string {
  return /^(?:ssh:\/\/)?[^/:]*@[^@]+$/.test(text) && !text.startsWith('ssh://')
    ? `ssh://${text.replace(':', '/')}`
    : text;
}

type Matches = (text: string) => boolean;

/** A pattern for repositories, compiled. */
export interface RepositoryPattern {
  /** Compared with `comparableAddress`, to permit. */
  readonly exact: string;
  readonly matchesExact: Matches;
  /** Compared with `looseNames`, to deny and to require; undefined if the pattern is no glob. */
  readonly matchesLoose: Matches | undefined;
}

/** Each pass compares the same few patterns. */
const known = new Map<string, RepositoryPattern>();
const maxKnown = 2000;
const maxKnownLength = 500;

/** @param separators `/` for patterns of `sourceRepos`, "" for those of signature policies */
export function repositoryPattern(entry: string, separators: '/' | ''): RepositoryPattern {
  const key = `${separators} ${entry}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const exact = exactPattern(entry);
  const made = {
    exact,
    matchesExact: exact === '*' ? () => true : (compileGlob(exact, separators) ?? (() => false)),
    matchesLoose: looseMatch(loosePatterns(entry), separators),
  };
  if (known.size >= maxKnown) known.clear();
  if (entry.length <= maxKnownLength) known.set(key, made);
  return made;
}

function looseMatch(patterns: readonly string[], separators: string): Matches | undefined {
  const globs = patterns.flatMap((pattern) => compileGlob(pattern, separators) ?? []);
  if (globs.length === 0) return undefined;
  return (text) => patterns.includes(text) || globs.some((glob) => glob(text));
}

/** The pattern in Argo CD's form, with the spellings that an address cannot have written as one. */
function exactPattern(entry: string): string {
  const text = trimSpace(entry).replace(/(?<=[^/])\/$/, '');
  const plain = /\/\.git$/i.test(text) ? `${comparableUrl(text)}.git` : comparableUrl(text);
  const isRegistry = /^(?:\d+(?:\.\d+){3}|\[[0-9a-f:]+\]):\d+(?:\/[^:@?#]*)?$/i.test(text);
  // Go cannot parse an IP address with a port; Argo CD takes all such texts for one.
  return plainHost(isRegistry ? toLower(text) : plain).replace(/%[0-9a-f]{2}/gi, (escape) => {
    const char = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return /[A-Za-z0-9_~-]/.test(char) ? char.toLowerCase() : escape.toLowerCase();
  });
}

/** Without a password, the scheme's own port, `file://`, and the second slash of `user@host://`. */
function plainHost(text: string): string {
  return text
    .replace(/^file:\/\/(?:localhost)?(?=\/)/, '')
    .replace(/^([a-z][a-z0-9+.-]*:\/\/[^/:@]*):[^/@]*@/, '$1@')
    .replace(/^(https:\/\/[^/]*):443(?=\/|$)/, '$1')
    .replace(/^(http:\/\/[^/]*):80(?=\/|$)/, '$1')
    .replace(/^([^/:]*@[^/:]*):22(?=\/|$)/, '$1')
    .replace(/^([^/:]+@[^/:]+)\/\//, '$1/');
}

function loosePatterns(entry: string): readonly string[] {
  const text = plainHost(withoutScp(toLower(trimSpace(entry))).replace(/^ssh:\/\//, ''))
    .replace(/^(oci:\/\/[^/]*):443(?=\/|$)/, '$1')
    .replace(/^((?:[a-z*?][^/]*:\/\/)?[^/]+?)\.(?=\/)/, '$1')
    .replace(/(?<=[^/])\/$/, '')
    .replace(/(?<=[^/*])(?:\/\.git)$/, '')
    .replace(/(?<=[^/])(?:\.git)+$/, '');
  const decoded = [text, decodedText(text)];
  return [...new Set([...decoded, ...decoded.map(withoutUser)])];
}

function decodedText(text: string): string {
  try {
    return toLower(decodeURIComponent(text));
  } catch {
    return text;
  }
}

function withoutUser(text: string): string {
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)?[^/@]*@(?=[^/])/, '$1');
}
