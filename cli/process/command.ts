import type { CommandOutput } from './output.ts';

/** Everything that a command gets from its process. */
export interface CommandContext {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly output: CommandOutput;
  /** Aborts at the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
}

/**
 * Resolves with the exit code. Rejects with UsageError for wrong usage (exit code 2), with any
 * other error for a failure (exit code 1).
 */
export type Command = (context: CommandContext) => Promise<number>;
