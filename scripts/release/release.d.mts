export interface ReleaseFacts {
  readonly version: string;
  readonly lockVersion: string;
  readonly chart: string;
  readonly changelog: string;
  readonly changedFiles: readonly string[];
  readonly tags: readonly string[];
  /** The tag that starts a release; undefined before there is one. */
  readonly tag?: string;
}

export function changelogEntry(changelog: string, version: string): string | undefined;
export function releaseProblems(facts: ReleaseFacts): string[];
