import { stringifyJson } from '#base';
import type { Json } from '#base';
import type { Act, DifferentialPlan } from './plan.ts';
import type { Finding } from './play.ts';

/** The result of one seed, as it is kept. */
export interface SeedResult {
  readonly seed: number;
  /** The limit of Applications. */
  readonly apps: number;
  readonly acts: number;
  readonly seconds: number;
  readonly findings: readonly Finding[];
  readonly known: readonly (readonly [row: string, count: number])[];
}

const maxShown = 12;
const maxText = 600;

/** A finding with the installation and the script that lead to it. */
export function findingText(plan: DifferentialPlan, { act, app, differences }: Finding): string {
  const name = plan.apps[app]?.name ?? '';
  const steps = plan.acts
    .slice(0, act + 1)
    .filter((each) => !('app' in each) || each.app === app)
    .map((each) => `    ${actText(plan, each)}`);
  const shown = differences
    .slice(0, maxShown)
    .flatMap(({ area, path, theirs, ours }) => [
      `    ${area} ${path}`,
      `      Argo CD: ${shortText(theirs)}`,
      `      ours:    ${shortText(ours)}`,
    ]);
  return [
    `DIFFERENCE: seed ${plan.seed}, Application ${name}, after act ${act + 1}`,
    `  settings: ${plan.settings.join(', ') || 'none'}`,
    `  Application: ${JSON.stringify(plan.apps[app])}`,
    '  script:',
    ...steps,
    `  differences (${differences.length}):`,
    ...shown,
    '',
  ].join('\n');
}

/** An act in words. */
export function actText(plan: DifferentialPlan, act: Act): string {
  if (act.do === 'settings') return `argocd-cm: switch "${act.name}"`;
  const { app, do: what, ...rest } = act;
  const item = 'item' in act ? plan.apps[app]?.items[act.item]?.kind : undefined;
  return `${plan.apps[app]?.name ?? ''}: ${what}${item === undefined ? '' : ` ${item}`} ${JSON.stringify(rest)}`;
}

function shortText(value: Json | undefined): string {
  const text = value === undefined ? 'nothing' : stringifyJson(value);
  return text.length > maxText ? `${text.slice(0, maxText)}…` : text;
}

/** The table of a run by area, then the rows of docs/compatibility.md that explain differences. */
export function tableOf(results: readonly SeedResult[]): string {
  const acts = results.reduce((sum, each) => sum + each.acts, 0);
  const areas = new Map<string, number>();
  for (const { findings } of results)
    for (const { differences } of findings)
      for (const area of new Set(differences.map((each) => each.area))) areas.set(area, (areas.get(area) ?? 0) + 1);
  const rows = new Map<string, number>();
  for (const { known } of results) for (const [row, count] of known) rows.set(row, (rows.get(row) ?? 0) + count);
  const failing = results.filter(({ findings }) => findings.length > 0).map(({ seed }) => seed);
  return [
    `differential: ${results.length} scripts, ${acts} acts, ${failing.length} scripts with unknown differences`,
    ...(failing.length === 0 ? [] : [`seeds: ${failing.join(', ')}`]),
    '| Area | Applications with unknown differences |',
    '|---|---|',
    ...[...areas].sort().map(([area, count]) => `| ${area} | ${count} |`),
    ...[...rows].sort().map(([row, count]) => `${count} by the row "${row}"`),
    '',
  ].join('\n');
}
