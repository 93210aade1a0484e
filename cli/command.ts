import type { Output } from './output.ts';

/** What a command gets from the edge of the process. */
export interface CommandContext {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly output: Output;
  /** Aborts at the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
}

/** Resolves with the exit code. Rejects with UsageError for bad usage (exit 2), with anything else for a failed job (exit 1). */
export type Command = (context: CommandContext) => Promise<number>;
