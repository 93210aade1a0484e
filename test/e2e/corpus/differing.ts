import type { CorpusCase } from './case.ts';

/** What one renders and the other does not: rows of docs/compatibility.md. */
export const differingCases: readonly (CorpusCase & {
  readonly own: RegExp | undefined;
  readonly theirs: RegExp | undefined;
})[] = [
  {
    // A repository that was read with other credentials before: by `login-https`, which comes earlier.
    name: 'differs-other-login',
    source: { at: 'https', path: 'directory-flat', repository: { username: 'nobody' } },
    own: /failed to authenticate/,
    theirs: undefined,
  },
];
