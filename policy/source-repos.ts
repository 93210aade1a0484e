import { comparableAddress, looseNames } from '#model';
import type { AppProject, SourceAddress } from '#model';
import { repositoryPattern } from './git-url.ts';
import type { RepositoryPattern } from './git-url.ts';
import { entriesOrUnreadable, stringOrUndefined } from './readable.ts';

/**
 * Reports whether Applications of the project may use this address (Argo CD:
 * AppProject.IsSourcePermitted). Entries are globs with separator `/`. `!entry` denies what it
 * matches and allows the rest, also if it stands alone. Differences: an invalid deny entry denies
 * everything; upstream it allows everything. A deny entry matches all names by which a server may
 * know the repository. User and query of an address never make an entry match.
 */
export function isSourcePermitted(project: AppProject, address: SourceAddress): boolean {
  if (!address.isPlain) return false;
  let permitted = false;
  for (const item of entriesOrUnreadable(project.spec.sourceRepos)) {
    const entry = item === undefined ? undefined : stringOrUndefined(item);
    // It may have been a deny entry.
    if (entry === undefined) return false;
    if (entry.startsWith('!')) {
      if (isDenied(entry.slice(1), address)) return false;
      permitted = true;
    } else permitted ||= isAllowed(repositoryPattern(entry, '/'), address);
  }
  return permitted;
}

/** An entry that is no glob denies everything: it is unknown what it was to deny. */
function isDenied(entry: string, address: SourceAddress): boolean {
  const { exact, matchesLoose, matchesExact } = repositoryPattern(entry, '/');
  if (matchesLoose === undefined) return true;
  return looseNames(address).some(matchesLoose) || (exact !== '*' && matchesExact(comparableAddress(address)));
}

/** The pattern must match with user and query, as in Argo CD, and what it does not name without. */
function isAllowed({ exact, matchesExact }: RepositoryPattern, address: SourceAddress): boolean {
  const plain = comparableAddress(address);
  const query = address.query.toLowerCase();
  const slash = query !== '' && address.segments.length === 0 ? '/' : '';
  if (!matchesExact(`${plain}${slash}${query}`)) return false;
  if (exact === '*') return true;
  if (query !== '' && !matchesExact(plain) && !namesQuery(exact, plain, query)) return false;
  const namesUser = /^[^/]*(?:\/\/)?[^/]*@/.test(exact);
  return (
    !address.hasLogin || address.transport !== 'http' || namesUser || matchesExact(comparableAddress(address.bare))
  );
}

/** Whether a question mark of the pattern stands for the one of the query. */
function namesQuery(exact: string, plain: string, query: string): boolean {
  const cuts = [...exact.matchAll(/\?/g)].map(({ index }) => index);
  return cuts.slice(0, maxCuts).some((at) => {
    const [before, after] = [exact.slice(0, at), exact.slice(at + 1)];
    return (
      repositoryPattern(before, '/').matchesExact(plain) && repositoryPattern(after, '/').matchesExact(query.slice(1))
    );
  });
}

const maxCuts = 4;
