export interface DiskLimit {
  readonly folder: string;
  readonly maxBytes: number;
}

/**
 * How to run a program. It inherits only the runner's allowed variables (PATH, proxies, CA
 * bundles).
 */
export interface CommandOptions {
  /** The name of the program in messages; its path by default. */
  readonly program?: string;
  /** Absolute directory; the runner's own by default. */
  readonly cwd?: string;
  /** Added to the allowed variables. The only way to pass credentials: never put them in argv. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Uint8Array;
  /** A file for standard input. */
  readonly stdinFile?: string;
  /** After this time, the program and everything it started are killed. */
  readonly timeoutMs: number;
  /** Sends SIGTERM at the timeout, and kills after this delay. Without it, kills at once. */
  readonly killDelayMs?: number;
  /** More standard output kills the program: {@link CommandError} with code COMMAND_OUTPUT. */
  readonly maxBytes: number;
  /**
   * More resident memory kills the program (COMMAND_MEMORY). Polled a few times a second, on Linux
   * only.
   */
  readonly maxMemoryBytes?: number;
  /**
   * A bigger total of the files directly in a folder kills the program (COMMAND_DISK). Polled a few
   * times a second.
   */
  readonly disk?: DiskLimit;
  /** Called when the program is killed, to kill processes that may have left its group. */
  readonly onKilled?: () => void;
  readonly signal: AbortSignal;
}

/** A program that exited. A non-zero exit code is a value, not an error. */
export interface CommandResult {
  /** Null if a signal killed it. */
  readonly exitCode: number | null;
  readonly stdout: Uint8Array;
  /**
   * At most the last 64 KiB, as text. May contain the program's input: use `outsideText` of #base
   * before showing it.
   */
  readonly stderr: string;
}

/**
 * Runs programs: argv arrays, never a shell. Rejects with CommandError if the program cannot be
 * started or exceeds a limit; with the signal's reason if that aborts, after the program was
 * killed.
 */
export interface CommandRunner {
  runCommand(argv: readonly string[], options: CommandOptions): Promise<CommandResult>;
}
