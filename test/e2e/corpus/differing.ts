import type { CorpusCase } from './case.ts';

/** Sources that only one of the two renders: rows of docs/compatibility.md. */
export const differingCases: readonly (CorpusCase & {
  readonly own: RegExp | undefined;
  readonly theirs: RegExp | undefined;
})[] = [
  {
    // The case `login-https` has read this repository with other credentials before.
    name: 'differs-other-login',
    source: { at: 'https', path: 'directory-flat', repository: { username: 'nobody' } },
    own: /failed to authenticate/,
    theirs: undefined,
  },
];
