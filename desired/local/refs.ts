import { highestMatch, parseVersion } from './semver.ts';

/** What `git ls-remote` told: full ref name to commit. Annotated tags are peeled. */
export type Refs = ReadonlyMap<string, string>;

/** Reads the output of `git ls-remote`. Lines of another form are ignored. */
export function parseRefs(output: string): Refs {
  const refs = new Map<string, string>();
  for (const line of output.split('\n')) {
    const match = /^([0-9a-f]{40,64})\t(.+)$/.exec(line);
    if (match === null) continue;
    const [, sha = '', name = ''] = match;
    // The peeled line follows that of the tag object, and wins.
    refs.set(name.endsWith('^{}') ? name.slice(0, -3) : name, sha);
  }
  return refs;
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
 * A version constraint is tried first, over the tags; a version is a pin. Deliberate difference: where a tag and a branch have the same
 * short name Argo CD takes either by chance, here the tag wins, as with git itself.
 */
export function resolveInRefs(revision: string, refs: Refs): string | undefined {
  const name = revision === '' ? 'HEAD' : revision;
  if (parseVersion(name) === undefined) {
    const tag = highestMatch(name, tagNames(refs));
    if (tag !== undefined) return refs.get(`refs/tags/${tag}`);
  }
  for (const prefix of ['', 'refs/', 'refs/tags/', 'refs/heads/', 'refs/remotes/']) {
    const sha = refs.get(`${prefix}${name}`);
    if (sha !== undefined) return sha;
  }
  return undefined;
}

function* tagNames(refs: Refs): Generator<string> {
  for (const name of refs.keys()) if (name.startsWith('refs/tags/')) yield name.slice('refs/tags/'.length);
}
