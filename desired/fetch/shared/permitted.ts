import type { SourceAddress } from '#model';
import { isSourcePermitted } from '#policy';

/** `sourceRepos` of a project. Absent: every address is permitted. */
export type PermittedRepos = readonly string[] | undefined;

export function isPermitted(sourceRepos: PermittedRepos, address: SourceAddress): boolean {
  if (sourceRepos === undefined) return true;
  const project = { apiVersion: 'argoproj.io/v1alpha1', kind: 'AppProject', metadata: {}, spec: { sourceRepos } };
  return isSourcePermitted(project, address);
}

/**
 * Whether the credentials of a repository may be sent to an address that its own files name, such
 * as a submodule. The author of the files need not be permitted to read that address.
 */
export function mayBorrow(sourceRepos: PermittedRepos, owner: SourceAddress, address: SourceAddress): boolean {
  return address.isWithin(owner) || isPermitted(sourceRepos, address);
}
