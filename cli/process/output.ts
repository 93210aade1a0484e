/** Output of a command. stdout is for results, stderr for progress and errors. */
export interface CommandOutput {
  readonly color: boolean;
  /** stderr is a terminal: a progress line can be rewritten. */
  readonly live: boolean;
  /** stdout is a terminal: earlier output can be redrawn. */
  readonly screen?: boolean;
  out(line: string): void;
  err(line: string): void;
  /**
   * Shows the latest progress: one rewritten line on a terminal, otherwise a new line for each
   * change.
   */
  progress(line: string): void;
}

const ansiCodes = { red: 31, green: 32, yellow: 33, blue: 34, dim: 2, bold: 1 } as const;
export type OutputColor = keyof typeof ansiCodes;

/** Colors only on a terminal, and not with NO_COLOR. */
export function processOutput(env: Readonly<Record<string, string | undefined>>): CommandOutput {
  const live = process.stderr.isTTY;
  let last = '';
  const endProgress = (): void => {
    if (live && last !== '') process.stderr.write('\n');
    last = '';
  };
  return {
    color: process.stdout.isTTY && env['NO_COLOR'] === undefined,
    live,
    screen: process.stdout.isTTY,
    out: (line) => {
      endProgress();
      process.stdout.write(`${line}\n`);
    },
    err: (line) => {
      endProgress();
      process.stderr.write(`${line}\n`);
    },
    progress: (line) => {
      if (line === last) return;
      process.stderr.write(live ? `\r\u001b[K${line}` : `${line}\n`);
      last = line;
    },
  };
}

/** Exit code of a program that SIGPIPE ended. Node ignores that signal and gets EPIPE instead. */
const sigpipeExitCode = 141;

/**
 * Calls `onBroken` once when stdout can no longer be written: with exit code 141 and no message if
 * the reader closed the pipe (`| head -1`), which is no failure, and with 1 and the reason
 * otherwise (a full disk). Without this, Node ends the process with a stack trace. A closed stderr
 * is ignored.
 */
export function onBrokenOutput(onBroken: (exitCode: number, message: string | undefined) => void): void {
  let broken = false;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (broken) return;
    broken = true;
    if (error.code === 'EPIPE') onBroken(sigpipeExitCode, undefined);
    else onBroken(1, `cannot write to standard output: ${error.message}`);
  });
  process.stderr.on('error', () => undefined);
}

export function paint(output: CommandOutput, color: OutputColor, text: string): string {
  return output.color ? `\u001b[${ansiCodes[color]}m${text}\u001b[0m` : text;
}

/** `1 cluster`, `2 clusters`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** Left-aligned columns, two spaces apart, with an upper-case header, as kubectl prints them. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [header.map((cell) => cell.toUpperCase()), ...rows];
  const widths = header.map((_cell, i) => Math.max(...all.map((row) => (row[i] ?? '').length)));
  return all.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('   ')
      .trimEnd(),
  );
}
