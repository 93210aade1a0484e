import { contextOf } from './harness.ts';
import type { Benchmark, BenchMetrics, BenchOptions } from './harness.ts';
import { describeMachine } from './machine.ts';
import type { MachineInfo } from './machine.ts';

export interface BenchConsole {
  out(text: string): void;
  err(text: string): void;
}

/**
 * Runs the named benchmarks (default: all) and prints a table, or with `--json` one object per
 * line: `{"name","metrics":{…},"machine":{…}}`. Returns the exit code: 2 for an unknown name or
 * flag, 1 if a benchmark fails.
 */
export async function runBenchmarks(
  known: readonly Benchmark[],
  args: readonly string[],
  console: BenchConsole,
): Promise<number> {
  const options = parseOptions(known, args);
  if (typeof options === 'string') {
    console.err(`driftless bench: ${options}\n`);
    return 2;
  }
  const machine = describeMachine();
  if (!options.json) console.out(machineText(machine, options.smoke));
  let failed = 0;
  for (const benchmark of known) {
    if (!isSelected(benchmark, options.names)) continue;
    try {
      const progress = (line: string): void => console.err(`${line}\n`);
      const metrics = await benchmark.run(contextOf(options, benchmark.name, progress));
      console.out(options.json ? jsonLine(benchmark, metrics, { machine, options }) : metricsTable(benchmark, metrics));
    } catch (error) {
      failed += 1;
      console.err(
        `driftless bench: ${benchmark.name} failed: ${error instanceof Error ? error.message : String(error)}\n`,
      );
    }
  }
  return failed === 0 ? 0 : 1;
}

function parseOptions(known: readonly Benchmark[], args: readonly string[]): BenchOptions | string {
  const valued = new Set(known.flatMap(({ options = [] }) => options.map((option) => `--${option}`)));
  const { names, flags, values } = splitArguments(args, valued);
  const list = [...new Set(known.flatMap(namesOf))].join(', ');
  const strange = names.find((name) => !known.some((benchmark) => namesOf(benchmark).includes(name)));
  if (strange !== undefined) return `unknown benchmark "${strange}"; choose from: ${list}`;
  const odd = flags.find((flag) => flag !== '--json' && flag !== '--smoke');
  const usage = [...valued].map((option) => ` [${option} VALUE]`).join('');
  if (odd !== undefined) return `unknown flag ${odd}; usage: npm run bench -- [${list}] [--json] [--smoke]${usage}`;
  const empty = [...values].find(([, value]) => value === '');
  if (empty !== undefined) return `--${empty[0]} needs a value`;
  const selected = known.filter((benchmark) => isSelected(benchmark, names));
  const idle = [...values.keys()].find((value) => selected.every(({ options = [] }) => !options.includes(value)));
  if (idle !== undefined) return `none of the named benchmarks takes --${idle}`;
  return { names, json: flags.includes('--json'), smoke: flags.includes('--smoke'), values };
}

function isSelected(benchmark: Benchmark, names: readonly string[]): boolean {
  return names.length === 0 || namesOf(benchmark).some((name) => names.includes(name));
}

/** Separates names, flags, and options with a value (`--size 200` or `--size=200`). */
function splitArguments(
  args: readonly string[],
  valued: ReadonlySet<string>,
): { readonly names: string[]; readonly flags: string[]; readonly values: Map<string, string> } {
  const [names, flags, values] = [[] as string[], [] as string[], new Map<string, string>()];
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const [option = '', value] = arg.split('=', 2);
    if (valued.has(option)) values.set(option.slice(2), value ?? rest.shift() ?? '');
    else if (arg.startsWith('-')) flags.push(arg);
    else names.push(arg);
  }
  return { names, flags, values };
}

/** The names that select it: its own, those of its parts, and that of its group (`GROUP/NAME`). */
function namesOf({ name, parts = [] }: Benchmark): readonly string[] {
  const [group = name] = name.split('/');
  return [...new Set([group, name, ...parts.map((part) => `${name}/${part}`)])];
}

interface RunFacts {
  readonly machine: MachineInfo;
  readonly options: BenchOptions;
}

function jsonLine(benchmark: Benchmark, metrics: BenchMetrics, { machine, options }: RunFacts): string {
  const given = (benchmark.options ?? []).flatMap((name) => {
    const value = options.values.get(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  const optional = given.length === 0 ? {} : { options: Object.fromEntries(given) };
  return `${JSON.stringify({ name: benchmark.name, metrics, machine, ...optional })}\n`;
}

function machineText(machine: MachineInfo, smoke: boolean): string {
  const memory = `${(machine.memoryBytes / 2 ** 30).toFixed(0)} GiB`;
  const lines = [
    `machine  ${machine.cpu}, ${machine.cores} cores, ${memory}, ${machine.platform}, node ${machine.node}`,
    `commit   ${machine.commit}, seed ${machine.seed}`,
  ];
  if (smoke) lines.push('smoke    small sizes, one round: these numbers are meaningless');
  return `${lines.join('\n')}\n`;
}

function metricsTable({ name, about, table }: Benchmark, metrics: BenchMetrics): string {
  if (table !== undefined) return `\n${name}: ${about}\n${table(metrics)}`;
  const rows = Object.entries(metrics).map(([metric, value]) => [metric, formatNumber(value)] as const);
  const left = Math.max(...rows.map(([metric]) => metric.length));
  const right = Math.max(...rows.map(([, value]) => value.length));
  const lines = rows.map(([metric, value]) => `  ${metric.padEnd(left)}  ${value.padStart(right)}`);
  return `\n${name}: ${about}\n${lines.join('\n')}\n`;
}

/** Three significant digits, with thousands separators. */
function formatNumber(value: number): string {
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}
