import { UnsafeInput } from '../errors.ts';
import { checkAppPath, checkRevision, checkUrl } from '../fetch/shared/input-checks.ts';
import type { RequestedSource } from '../types.ts';

/**
 * Applies the checks of the embedded generator to an Application's source: the repo-server passes
 * its fields to programs (T-SEC-30, T-SEC-31) and serves repositories on its disk to every caller.
 * @throws UnsafeInput, SourcePathError
 */
export function checkRequestedSource({ source, revision }: RequestedSource, allowsLocal: boolean): void {
  checkRevision(revision);
  checkRevision(source.targetRevision ?? '');
  const { repoURL, chart = '', path = '' } = source;
  const isOci = repoURL.startsWith('oci://');
  if (isOci || chart === '') checkAppPath(path);
  if (isOci || chart !== '' || checkUrl(repoURL, noCache).transport !== 'local' || allowsLocal) return;
  throw new UnsafeInput(
    'the repository URL is refused: it points to the local disk of the repo-server (--allow-local-repositories allows that)',
  );
}

/** This process has no repository cache to protect. */
const noCache = '/nonexistent';
