import type { MatrixCase, Outcome, Verdict } from './matrix.ts';

const outcomes: readonly Outcome[] = [
  'equal',
  'equal after a second sync',
  'refused with reason',
  'kept by the server, with a condition',
  'invalid manifest',
  'synced and different',
  'unknown and applied',
  'out of sync for ever',
];

const defects: readonly Outcome[] = ['synced and different', 'unknown and applied', 'out of sync for ever'];

function modeOf({ before, method, kind }: MatrixCase): string {
  return `${before === method ? method : `${before} → ${method}`}, ${kind === 'server' ? 'server-side' : 'local'} diff`;
}

/** The mode, the manifest and the mutation of a case. */
export function describeCase(one: MatrixCase): string {
  const { manifest, mutation, isAnnotated } = one;
  const object = `${manifest.apiVersion} ${manifest.kind}/${manifest.metadata.name ?? ''}`;
  return `${modeOf(one)}${isAnnotated ? ' (annotated)' : ''}: ${object}: ${mutation.what} ${mutation.path}`;
}

/** Counts the outcomes of a matrix, and lists the defects. */
export class MatrixTally {
  readonly wrong: string[] = [];
  /** Cases that only a condition explains: few, and each known (docs/reliability.md). */
  readonly kept: string[] = [];
  readonly #rows = new Map<string, Map<Outcome, number>>();

  add(one: MatrixCase, { outcome, detail }: Verdict): void {
    const row = modeOf(one);
    const counts = this.#rows.get(row) ?? new Map<Outcome, number>();
    this.#rows.set(row, counts);
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    const line = `${outcome}: ${describeCase(one)}: ${detail}`;
    if (defects.includes(outcome)) this.wrong.push(line);
    if (outcome === 'kept by the server, with a condition') this.kept.push(line);
  }

  /** The number of cases whose manifest the server accepts. */
  get judged(): number {
    return this.#sum(outcomes.filter((outcome) => outcome !== 'invalid manifest'));
  }

  /** A Markdown table. */
  text(): string {
    const cells = (values: readonly (string | number)[]): string => `| ${values.join(' | ')} |\n`;
    const rows = [...this.#rows].sort(([a], [b]) => (a < b ? -1 : 1));
    const body = rows.map(([row, counts]) => cells([row, ...outcomes.map((outcome) => counts.get(outcome) ?? 0)]));
    const sums = outcomes.map((outcome) => this.#sum([outcome]));
    return `${cells(['Mode', ...outcomes])}${cells(['Mode', ...outcomes].map(() => '---'))}${body.join('')}${cells(['all', ...sums])}`;
  }

  #sum(which: readonly Outcome[]): number {
    let sum = 0;
    for (const counts of this.#rows.values()) for (const outcome of which) sum += counts.get(outcome) ?? 0;
    return sum;
  }
}
