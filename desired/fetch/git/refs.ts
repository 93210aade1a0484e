import { highestMatch, parseVersion } from '../shared/semver.ts';

/** The refs that `git ls-remote` listed. */
export interface Refs {
  /** Full ref name to commit. Annotated tags are peeled. */
  readonly commits: ReadonlyMap<string, string>;
  /** Full name of an annotated tag to its tag object, which carries the tag's signature. */
  readonly tags: ReadonlyMap<string, string>;
}

/** The object that a revision resolves to. */
export interface ResolvedRef {
  readonly commit: string;
  /** The tag object, if the name is that of an annotated tag. */
  readonly tag?: string;
}

/** Parses the output of `git ls-remote` and ignores other lines. */
export function parseRefs(output: string): Refs {
  const commits = new Map<string, string>();
  const tags = new Map<string, string>();
  for (const line of output.split('\n')) {
    const match = /^([0-9a-f]{40,64})\t(.+)$/.exec(line);
    if (match === null) continue;
    const [, sha = '', name = ''] = match;
    const isPeeled = name.endsWith('^{}');
    const ref = isPeeled ? name.slice(0, -3) : name;
    // The peeled line follows the line of the tag object and replaces it.
    const object = commits.get(ref);
    if (isPeeled && object !== undefined) tags.set(ref, object);
    commits.set(ref, sha);
  }
  return { commits, tags };
}

export function isFullSha(revision: string): boolean {
  return /^[0-9a-f]{40}$/i.test(revision);
}

/** Seven to 39 hexadecimal digits: an abbreviated commit, unless a ref has this name. */
export function mayBeShortSha(revision: string): boolean {
  return /^[0-9a-f]{7,39}$/i.test(revision);
}

/**
 * Resolves a revision against the refs; undefined if none matches (Argo CD: util/git client.go
 * resolveRef and versions/tags.go). A constraint is matched against the tags first; a version names
 * exactly one tag. Both are written without the `tagPrefix` that the tags have.
 * Deliberate difference: for a tag and a branch of the same short name, Argo CD picks either at
 * random; here the tag wins, as in git.
 */
export function resolveInRefs(revision: string, refs: Refs, tagPrefix = ''): ResolvedRef | undefined {
  let name = revision === '' ? 'HEAD' : revision;
  if (parseVersion(name) === undefined) {
    const tag = highestMatch(name, tagNames(refs, tagPrefix));
    if (tag !== undefined) return found(`refs/tags/${tagPrefix}${tag}`, refs);
  } else name = `${tagPrefix}${name}`;
  for (const prefix of ['', 'refs/', 'refs/tags/', 'refs/heads/', 'refs/remotes/']) {
    const at = found(`${prefix}${name}`, refs);
    if (at !== undefined) return at;
  }
  return undefined;
}

function found(ref: string, { commits, tags }: Refs): ResolvedRef | undefined {
  const commit = commits.get(ref);
  const tag = tags.get(ref);
  return commit === undefined ? undefined : { commit, ...(tag === undefined ? {} : { tag }) };
}

function* tagNames({ commits }: Refs, tagPrefix: string): Generator<string> {
  const beginning = `refs/tags/${tagPrefix}`;
  for (const name of commits.keys()) if (name.startsWith(beginning)) yield name.slice(beginning.length);
}
