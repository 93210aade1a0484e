export interface ReleaseFacts {
  readonly version: string;
  readonly lockVersion: string;
  readonly chart: string;
  readonly changelog: string;
  readonly changedFiles: readonly string[];
  readonly tags: readonly string[];
}

export interface ReleaseStep {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  readonly copy?: readonly [string, string];
}

export function changelogEntry(changelog: string, version: string): string | undefined;
export function releaseProblems(facts: ReleaseFacts): string[];
export function releaseSteps(version: string, revision: string): ReleaseStep[];
export function missingPrograms(steps: readonly ReleaseStep[], hasProgram: (program: string) => boolean): string[];
