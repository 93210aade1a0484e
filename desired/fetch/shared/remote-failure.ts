import { outsideText } from '#base';
import { CacheUnwritable, RepositoryError } from '../../errors.ts';
import { diskRefusalIn } from './disk-failure.ts';

/**
 * Describes a failed command on a remote, with Argo CD's text where it has one. `doing` starts the
 * message: "failed to list refs". `failures` matches git's output, which is untranslated
 * (LC_ALL=C).
 */
export function remoteFailure(doing: string, url: string, stderr: string): RepositoryError | CacheUnwritable {
  const shown = outsideText('url', url);
  const fields = { repository: shown };
  const refusal = diskRefusalIn(stderr);
  if (refusal !== undefined) return new CacheUnwritable(refusal, { doing: `${doing} of ${shown}` });
  for (const [pattern, meaning] of failures)
    if (pattern.test(stderr)) return new RepositoryError(`${doing}: ${meaning(shown)}`, { fields });
  const lines = stderr.split('\n').map((line) => line.trim());
  const cause = lines.find((line) => /^(?:fatal|error|ERROR|ssh):/i.test(line)) ?? lines.find((line) => line !== '');
  return new RepositoryError(`${doing}: ${(cause ?? 'git failed without a message').replace(/^fatal: /, '')}`, {
    fields,
  });
}

const failures: readonly (readonly [RegExp, (url: string) => string])[] = [
  [
    /No user exists for uid/i,
    () =>
      'ssh does not run as a user without a name in /etc/passwd: install libnss-wrapper beside git, or set runAsUser to a UID with a name',
  ],
  [
    /terminal prompts disabled|Authentication failed|could not read (?:Username|Password)|Permission denied \(|returned error: 40[13]/i,
    (url) => `failed to authenticate to git repository "${url}": no credentials matched this URL, or they were refused`,
  ],
  [
    /does not appear to be a git repository|repository '[^']*' not found|Repository not found|returned error: 404/i,
    () => 'repository not found',
  ],
  [/Host key verification failed/i, (url) => `the ssh host key of "${url}" is not among the known hosts`],
  [/detected dubious ownership/i, (url) => `"${url}" belongs to another user than this process`],
];
