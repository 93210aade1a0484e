/**
 * A program to run and its environment. `env` is added to the environment of the process that runs
 * it.
 */
export interface CommandRequest {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

export interface CommandResult {
  /** Null if a signal killed it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a program without a shell. Resolves when it has exited, whatever its exit code; rejects if
 * it cannot be started. Must kill it when `signal` aborts. The seam for the pre-forked helper
 * (decision D14).
 */
export type RunCommand = (request: CommandRequest, signal: AbortSignal) => Promise<CommandResult>;
