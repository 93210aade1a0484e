import type { MatrixCase, Outcome, Verdict } from './matrix.ts';

const outcomes: readonly Outcome[] = [
  'equal',
  'equal after a second sync',
  'refused with reason',
  'invalid manifest',
  'synced and different',
  'out of sync for ever',
];

/** Counts the outcomes of a matrix, and lists the defects. */
export class MatrixTally {
  readonly wrong: string[] = [];
  readonly #rows = new Map<string, Map<Outcome, number>>();

  add({ manifest, mutation, before, method, kind, isAnnotated }: MatrixCase, { outcome, detail }: Verdict): void {
    const row = `${before === method ? method : `${before} → ${method}`}, ${kind === 'server' ? 'server-side' : 'local'} diff`;
    const counts = this.#rows.get(row) ?? new Map<Outcome, number>();
    this.#rows.set(row, counts);
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    if (outcome === 'synced and different' || outcome === 'out of sync for ever')
      this.wrong.push(
        `${outcome}: ${row}${isAnnotated ? ' (annotated)' : ''}: ${manifest.apiVersion} ${manifest.kind}/${manifest.metadata.name ?? ''}: ${mutation.what} ${mutation.path}: ${detail}`,
      );
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
