import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf, outsideText, systemClock, UsageError } from '#base';
import type { JsonObject } from '#base';
import { createInProcessRunner } from '#desired';
import type { CommandRunner } from '#desired';
import { describe, readArgs } from '../options/args.ts';
import type { OptionSpec } from '../options/args.ts';
import { help } from '../options/common-options.ts';
import type { CommandContext } from '../process/command.ts';
import { parseResults, resultText } from './reconcile-results.ts';

const options = {
  exitCode: {
    flag: 'exit-code',
    kind: 'bool',
    help: 'Exit with 1 if an Application differs. Default: 0, as in Argo CD.',
  },
  help,
} as const satisfies Readonly<Record<string, OptionSpec>>;

const usage = 'usage: driftless admin diff-reconcile-results PATH1 PATH2 [FLAGS]';
const externalDiff = 'KUBECTL_EXTERNAL_DIFF';
const timeoutMs = 30_000;
const maxBytes = 64 * 1024 * 1024;

/** The differences of one Application. */
interface ResultPair {
  readonly name: string;
  readonly first: string;
  readonly second: string;
}

/**
 * `driftless admin diff-reconcile-results`: the name of every Application of two results files,
 * followed by what `diff` (or KUBECTL_EXTERNAL_DIFF) prints if it differs.
 */
export async function diffReconcileResults(context: CommandContext): Promise<number> {
  const { argv, env, output } = context;
  const { config, positionals } = readArgs(options, argv, env);
  if (config.help) {
    output.out(`${usage}\n\n${describe(options)}\n\n${externalDiff} names another program than diff.`);
    return 0;
  }
  const [first, second, ...more] = positionals;
  if (first === undefined || second === undefined || more.length > 0) throw new UsageError(usage);
  const pairs = pairsOf(readResults(first), readResults(second));
  const program = diffProgram(env[externalDiff]);
  const folder = mkdtempSync(join(tmpdir(), 'driftless-diff-'));
  const commands = createInProcessRunner({ clock: systemClock, env });
  let differs = false;
  try {
    for (const pair of pairs) {
      output.out(outsideText('field', pair.name).replaceAll('\n', ' '));
      if (pair.first === pair.second) continue;
      differs = true;
      const text = await difference(pair, { commands, program, folder, signal: context.signal });
      if (text !== '') output.out(text.replace(/\n$/, ''));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return config.exitCode && differs ? 1 : 0;
}

function readResults(path: string): ReadonlyMap<string, JsonObject> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${messageOf(error)}`, { cause: error });
  }
  return parseResults(text, path);
}

function pairsOf(
  first: ReadonlyMap<string, JsonObject>,
  second: ReadonlyMap<string, JsonObject>,
): readonly ResultPair[] {
  const names = [...new Set([...first.keys(), ...second.keys()])].sort();
  return names.map((name) => ({
    name,
    first: resultText(first.get(name)),
    second: resultText(second.get(name)),
  }));
}

/** As in kubectl: a program and flags, separated by spaces, without quotes. */
function diffProgram(configured: string | undefined): readonly string[] {
  const words = (configured ?? '').split(/\s+/).filter((word) => word !== '');
  return words.length === 0 ? ['diff'] : words;
}

interface DiffRun {
  readonly commands: CommandRunner;
  readonly program: readonly string[];
  readonly folder: string;
  readonly signal: AbortSignal;
}

/** The files have fixed names: a name in a results file may be any text. */
async function difference(pair: ResultPair, { commands, program, folder, signal }: DiffRun): Promise<string> {
  const paths = [join(folder, 'first.yaml'), join(folder, 'second.yaml')] as const;
  writeFileSync(paths[0], pair.first, { mode: 0o600 });
  writeFileSync(paths[1], pair.second, { mode: 0o600 });
  const { exitCode, stdout, stderr } = await commands.runCommand([...program, ...paths], {
    timeoutMs,
    maxBytes,
    signal,
  });
  // diff exits with 1 for a difference, and above for trouble.
  if (exitCode !== 0 && exitCode !== 1)
    throw new UsageError(`${program[0] ?? ''} failed: ${outsideText('program', stderr).trim()}`);
  return Buffer.from(stdout).toString();
}
