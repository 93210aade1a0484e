import type { RunConfig } from '../options/run-options.ts';

/** The difference that an option makes. */
export interface OptionEffect {
  /** The value as a flag. */
  readonly given: string;
  /** The value as an environment variable, if it is written differently. */
  readonly env?: string;
  /** Runs the parts that the option changes. */
  readonly observe: (config: RunConfig) => unknown;
  readonly usual: unknown;
  readonly changed: unknown;
  /** Other flags that the option needs. */
  readonly beside?: readonly string[];
}

/** Why an option has no effect: the row of docs/compatibility.md. */
export interface WithoutEffect {
  readonly given: string;
  readonly row: string;
}

/** Another module's tests prove the effect; `test` is the file, which must name the flag or key. */
export interface ProvenElsewhere {
  readonly test: string;
  readonly names: string;
}
