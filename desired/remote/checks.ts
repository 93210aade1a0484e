import { UnsafeInput } from '../errors.ts';
import { checkAppPath, checkRevision, checkUrl } from '../fetch/untrusted.ts';
import type { RequestedSource } from '../types.ts';

/**
 * What an Application's author wrote is held to the same rules as before git and tools of our own: the repo-server hands it to programs (T-SEC-30,
 * T-SEC-31), and lets everybody read repositories on its disk.
 * @throws UnsafeInput, SourcePathError
 */
export function checkAsked({ source, revision }: RequestedSource, allowsLocal: boolean): void {
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

/** This process has no cache of repositories that would have to be kept from others. */
const noCache = '/nonexistent';
