import { deepEqual } from '#base';
import type { Json, JsonObject } from '#base';
import type { CorpusCase } from '../corpus/index.ts';
import type { BothSources, RenderOutcome } from '../support/both-sources.ts';
import { shrinkCase } from '../../differential/shrink.ts';
import { explainedDifferences } from './explained.ts';
import { applicationOf, describeCase, optionCases, settingsOf } from './cases.ts';
import type { OptionCase } from './cases.ts';
import { optionLayouts } from './layouts.ts';
import type { OptionLayout } from './layouts.ts';

const verdicts = ['equal', 'both refused', 'theirs varies', 'explained', 'different'] as const;
type Verdict = (typeof verdicts)[number];

const casesPerLine = 100;
const maxShrinkRuns = 60;
const maxAttempts = 8;
const shownLength = 600;

export interface MatrixOptions {
  readonly limit: number;
  readonly seed: number;
  readonly from?: number;
  /** Runs only the cases whose description matches. */
  readonly only?: string;
  /** Prints each pair of refusals. */
  readonly isVerbose?: boolean;
}

/** Counts what the two sides of each case did, by kind of source and number of options. */
export class OptionTally {
  readonly different: string[] = [];
  readonly #rows = new Map<string, Map<Verdict, number>>();

  add({ layout, options }: OptionCase, verdict: Verdict): void {
    const row = `${layout.kind}, ${['', 'one option', 'two options', 'three options'][options.length] ?? ''}`;
    const counts = this.#rows.get(row) ?? new Map<Verdict, number>();
    this.#rows.set(row, counts);
    counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  }

  count(...which: readonly Verdict[]): number {
    let sum = 0;
    for (const counts of this.#rows.values()) for (const verdict of which) sum += counts.get(verdict) ?? 0;
    return sum;
  }

  /** A Markdown table. */
  text(): string {
    const cells = (values: readonly (string | number)[]): string => `| ${values.join(' | ')} |\n`;
    const head = ['Source', 'Cases', ...verdicts];
    const body = [...this.#rows]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([row, counts]) => {
        const found = verdicts.map((verdict) => counts.get(verdict) ?? 0);
        return cells([row, found.reduce((sum, count) => sum + count, 0), ...found]);
      });
    const sums = verdicts.map((verdict) => this.count(verdict));
    return `${cells(head)}${cells(head.map(() => '---'))}${body.join('')}${cells(['all', this.count(...verdicts), ...sums])}`;
  }
}

/**
 * Renders a sample of all layouts and options on both sides. Prints the progress and each
 * difference.
 */
export async function runOptionMatrix(
  both: BothSources,
  { limit, seed, from = 0, only = '', isVerbose = false }: MatrixOptions,
): Promise<OptionTally> {
  const chosen = new RegExp(only, 'u');
  const cases = optionCases(optionLayouts(), { limit, seed })
    .slice(from)
    .filter((one) => chosen.test(describeCase(one)));
  const tally = new OptionTally();
  const begin = performance.now();
  for (const [i, one] of cases.entries()) {
    const settings = settingsOf(one);
    const application = applicationOf(one.layout, settings);
    const outcomes = await both.outcomes(application);
    const verdict = await verdictOf(both, application, outcomes);
    tally.add(one, verdict);
    const line = `${describeCase(one)}: ${differenceOf(outcomes)}`;
    if (isVerbose && verdict !== 'equal') print(`${verdict}: ${line}`);
    if (verdict === 'different') {
      const smaller = await shrunk(both, one.layout, settings);
      tally.different.push(`${line}\n  shrunk: ${smaller}`);
      print(`DIFFERENT: ${line}\n  shrunk: ${smaller}`);
    }
    if ((i + 1) % casesPerLine === 0 || i + 1 === cases.length) {
      const seconds = Math.round((performance.now() - begin) / 1000);
      const counts = verdicts.map((name) => `${tally.count(name)} ${name}`).join(', ');
      print(`${i + 1} of ${cases.length} in ${seconds} s: ${counts}`);
    }
  }
  return tally;
}

function print(line: string): void {
  process.stdout.write(`source options: ${line}\n`);
}

function judge({ own, theirs }: Outcomes): 'equal' | 'both refused' | 'different' {
  if ('problem' in own && 'problem' in theirs) return 'both refused';
  return deepEqual(own as unknown as Json, theirs as unknown as Json) ? 'equal' : 'different';
}

/**
 * The verdict about a case. Argo CD passes the parameters of helm in a random order, which decides
 * between names that overlap: such a case is rendered some more times.
 */
async function verdictOf(both: BothSources, application: CorpusCase, outcomes: Outcomes): Promise<Verdict> {
  const first = judge(outcomes);
  if (first !== 'different') return first;
  for (const variant of Object.values(explainedDifferences).flatMap((variants) => variants(application))) {
    const { own } = await both.outcomes(variant);
    if (judge({ own, theirs: outcomes.theirs }) === 'equal') return 'explained';
  }
  const parameters = application.source?.helm?.['parameters'];
  const attempts = Array.isArray(parameters) && parameters.length > 1 ? maxAttempts : 0;
  for (let attempt = 0; attempt < attempts; attempt += 1)
    if (judge(await both.outcomes(application)) === 'equal') return 'theirs varies';
  return first;
}

interface Outcomes {
  readonly own: RenderOutcome;
  readonly theirs: RenderOutcome;
}

/** The smallest settings with which the two sides still differ. */
async function shrunk(both: BothSources, layout: OptionLayout, settings: JsonObject): Promise<string> {
  const isDifferent = async (smaller: unknown): Promise<boolean> => {
    const application = applicationOf(layout, smaller as JsonObject);
    return (await verdictOf(both, application, await both.outcomes(application))) === 'different';
  };
  if (await isDifferent({})) return 'the layout itself, without options';
  return JSON.stringify(await shrinkCase(settings, isDifferent, maxShrinkRuns));
}

/** Both messages, or the first values that differ. */
function differenceOf({ own, theirs }: Outcomes): string {
  if ('problem' in own || 'problem' in theirs)
    return `ours: ${'problem' in own ? own.problem : 'renders'}\n  theirs: ${'problem' in theirs ? theirs.problem : 'renders'}`;
  return firstDifference(own, theirs, '') ?? 'equal';
}

function firstDifference(own: unknown, theirs: unknown, path: string): string | undefined {
  if (deepEqual(own as Json, theirs as Json)) return undefined;
  if (typeof own === 'object' && typeof theirs === 'object' && own !== null && theirs !== null) {
    for (const key of new Set([...Object.keys(own), ...Object.keys(theirs)])) {
      const members = [own, theirs].map((value) => (value as Readonly<Record<string, unknown>>)[key]);
      const found = firstDifference(members[0], members[1], `${path}/${key}`);
      if (found !== undefined) return found;
    }
  }
  const shown = [own, theirs].map((value) =>
    (value === undefined ? 'nothing' : JSON.stringify(value)).slice(0, shownLength),
  );
  return `${path}: ours ${shown[0] ?? ''}, theirs ${shown[1] ?? ''}`;
}
