import { checkAppPath, checkRevision, checkUrl } from '../fetch/shared/input-checks.ts';
import type { RequestedSource } from '../types.ts';

/**
 * Applies the checks of the embedded generator to an Application's source: the repo-server passes
 * its fields to programs (T-SEC-30, T-SEC-31). Which repositories of its own disk it serves is its
 * own affair, as in Argo CD.
 * @throws UnsafeInput, SourcePathError
 */
export function checkRequestedSource({ source, revision }: RequestedSource): void {
  checkRevision(revision);
  checkRevision(source.targetRevision ?? '');
  const { repoURL, chart = '', path = '' } = source;
  const address = checkUrl(repoURL, noCache, chart === '' ? 'git' : 'chart');
  if (address.scheme === 'oci' || chart === '') checkAppPath(path);
}

/** This process has no repository cache to protect. */
const noCache = '/nonexistent';
