import { highestMatch, parseVersion } from './semver.ts';

/** What `git ls-remote` told. */
export interface Refs {
  /** Full ref name to commit. Annotated tags are peeled. */
  readonly commits: ReadonlyMap<string, string>;
  /** Full name of an annotated tag to its tag object, which is what carries the tag's signature. */
  readonly tags: ReadonlyMap<string, string>;
}

/** Where a revision leads. */
export interface Found {
  readonly commit: string;
  /** The tag object, where the name is that of an annotated tag. */
  readonly tag?: string;
}

/** Reads the output of `git ls-remote`. Lines of another form are ignored. */
export function parseRefs(output: string): Refs {
  const commits = new Map<string, string>();
  const tags = new Map<string, string>();
  for (const line of output.split('\n')) {
    const match = /^([0-9a-f]{40,64})\t(.+)$/.exec(line);
    if (match === null) continue;
    const [, sha = '', name = ''] = match;
    const isPeeled = name.endsWith('^{}');
    const ref = isPeeled ? name.slice(0, -3) : name;
    // The peeled line follows that of the tag object, and wins.
    const object = commits.get(ref);
    if (isPeeled && object !== undefined) tags.set(ref, object);
    commits.set(ref, sha);
  }
  return { commits, tags };
}

export function isFullSha(revision: string): boolean {
  return /^[0-9a-f]{40}$/i.test(revision);
}

/** Seven or more hexadecimal digits: may be an abbreviated commit, if no ref has this name. */
export function mayBeShortSha(revision: string): boolean {
  return /^[0-9a-f]{7,39}$/i.test(revision);
}

/**
 * The commit that a revision names among the refs, undefined when none fits (Argo CD: util/git client.go resolveRef and versions/tags.go).
 * A version constraint is tried first, over the tags; a version is a pin. Both speak of tags that begin with `tagPrefix`, without it. Deliberate difference: where a tag and a branch have the same
 * short name Argo CD takes either by chance, here the tag wins, as with git itself.
 */
export function resolveInRefs(revision: string, refs: Refs, tagPrefix = ''): Found | undefined {
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

function found(ref: string, { commits, tags }: Refs): Found | undefined {
  const commit = commits.get(ref);
  const tag = tags.get(ref);
  return commit === undefined ? undefined : { commit, ...(tag === undefined ? {} : { tag }) };
}

function* tagNames({ commits }: Refs, tagPrefix: string): Generator<string> {
  const beginning = `refs/tags/${tagPrefix}`;
  for (const name of commits.keys()) if (name.startsWith(beginning)) yield name.slice(beginning.length);
}
