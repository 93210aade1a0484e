export interface ExpectedImage {
  readonly platforms: readonly string[];
  readonly version: string;
  readonly revision: string;
}

export function archiveProblems(readJson: (name: string) => unknown, expected: ExpectedImage): string[];
export function jsonReader(archive: string): (name: string) => unknown;
