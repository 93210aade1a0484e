/** Where a command writes. stdout is for results, stderr for progress and errors. */
export interface Output {
  readonly color: boolean;
  /** stderr is a terminal: a progress line may be rewritten. */
  readonly live: boolean;
  /** stdout is a terminal: what was shown may be drawn over. */
  readonly screen?: boolean;
  out(line: string): void;
  err(line: string): void;
  /** Shows the newest state of long work: one rewritten line on a terminal, a new line elsewhere, and only when it changed. */
  progress(line: string): void;
}

const codes = { red: 31, green: 32, yellow: 33, blue: 34, dim: 2, bold: 1 } as const;
export type Color = keyof typeof codes;

/** Colours only where a person looks: not when piped, not with NO_COLOR. */
export function processOutput(env: Readonly<Record<string, string | undefined>>): Output {
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

/** What a shell shows for a program that SIGPIPE has ended: Node ignores that signal, and gets EPIPE instead. */
const closedPipe = 141;

/**
 * Calls `onBroken`, once, when nobody takes what this process writes to stdout any more: with exit code 141 and no message when the reader has
 * gone (`| head -1`), which is no failure, and with 1 and the reason otherwise (a full disk). Without this, Node ends the process with a stack
 * trace. A stderr that is gone is no reason to stop.
 */
export function onBrokenOutput(onBroken: (exitCode: number, message: string | undefined) => void): void {
  let broken = false;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (broken) return;
    broken = true;
    if (error.code === 'EPIPE') onBroken(closedPipe, undefined);
    else onBroken(1, `cannot write to standard output: ${error.message}`);
  });
  process.stderr.on('error', () => undefined);
}

export function paint(output: Output, color: Color, text: string): string {
  return output.color ? `\u001b[${codes[color]}m${text}\u001b[0m` : text;
}

/** Left-aligned columns, two spaces apart, header in upper case: as kubectl prints. */
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
