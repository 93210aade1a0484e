export interface Repository {
  readonly files: readonly string[];
  readonly text: (path: string) => string;
  readonly bytes: (path: string) => Uint8Array;
}

export interface CheckResult {
  readonly name: string;
  readonly faults: readonly string[];
}

export function localChecks(repository: Repository): readonly CheckResult[];
