import { outsideText } from '#base';
import { DesiredError, RepositoryError } from '../errors.ts';

/** The branch has another commit than the one that the new commit was built on. */
export class BranchMoved extends DesiredError {
  constructor(ref: string) {
    super('DESIRED_BRANCH_MOVED', `${ref} was moved by another client while the manifests were written`);
  }
}

const moved =
  /stale info|fetch first|non-fast-forward|needs force|cannot lock ref|failed to update ref|reference already exists|incorrect old value/;

/** At most this many lines of a server's hook are shown. */
const maxRemoteLines = 10;

/**
 * The error of a refused push: the branch moved, or the server's reason (a protected branch, a
 * repository that is archived, credentials that may only read).
 */
export function pushFailure(ref: string, stdout: string, stderr: string): DesiredError {
  const line = stdout.split('\n').find((one) => one.startsWith('!')) ?? '';
  const reason = /\[[^\]]*\] \((.*)\)$/.exec(line)?.[1] ?? /\[[^\]]*\].*$/.exec(line)?.[0];
  if (reason !== undefined && moved.test(reason)) return new BranchMoved(ref);
  const lines = stderr.split('\n').map((one) => one.trim());
  const remote = lines.filter((one) => one.startsWith('remote:')).map((one) => one.replace(/^remote:\s*/, ''));
  const fatal = lines.find((one) => /^(?:fatal|ssh):/.test(one));
  const why = reason ?? fatal ?? lines.find((one) => one !== '') ?? 'git failed without a message';
  const more = remote
    .filter((one) => one !== '')
    .slice(0, maxRemoteLines)
    .join(' ');
  const text = `failed to push: ${ref}: ${why.replace(/^fatal: /, '')}${more === '' ? '' : `: ${more}`}`;
  return new RepositoryError(outsideText('program', text));
}
