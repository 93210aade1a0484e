export interface DiskLimit {
  readonly folder: string;
  readonly maxBytes: number;
}

/** How a program is to be run. Nothing is inherited but the runner's own allow-listed variables (PATH, proxies, CA bundles). */
export interface CommandOptions {
  /** Absolute directory; the runner's own when left out. */
  readonly cwd?: string;
  /** Added to the allow-listed variables. The one way for credentials: never put them in argv. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
  /** The program and everything it started are killed after this. */
  readonly timeoutMs: number;
  /** Standard output beyond this kills the program: {@link CommandError} with code COMMAND_OUTPUT. */
  readonly maxBytes: number;
  /** Resident memory beyond this kills the program (COMMAND_MEMORY), where the system tells it: on Linux. Looked at a few times a second. */
  readonly maxMemoryBytes?: number;
  /** Files right in a folder that together have more than this kill the program (COMMAND_DISK). Looked at a few times a second. */
  readonly disk?: DiskLimit;
  readonly signal: AbortSignal;
}

/** A program that ran to its end, well or not: a non-zero exit is a value, not an error. */
export interface CommandResult {
  /** Null when a signal ended it. */
  readonly exitCode: number | null;
  readonly stdout: Uint8Array;
  /** At most the last 64 KiB, as text. May hold what the program was given: `outsideText` of #base before it is shown. */
  readonly stderr: string;
}

/**
 * Runs programs: argv arrays, never a shell (T-SEC-31). Rejects with CommandError when the program cannot be started, overruns its time
 * or its output limit; with the signal's reason when that aborts, after the program was told to die.
 */
export interface CommandRunner {
  runCommand(argv: readonly string[], options: CommandOptions): Promise<CommandResult>;
}
