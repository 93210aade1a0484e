import type { AppKey } from '#model';
import type { ReplicaFacts } from '../facts.ts';
import type { CostRow, CostSubject, UpdateRule } from '../types.ts';
import type { ApplicationIndex } from './applications.ts';
import { roundedCost } from './local.ts';
import { proposeUpdateRules } from './update-rules.ts';

export interface CostPage {
  readonly windowMs: number;
  readonly items: readonly CostRow[];
  readonly rules?: readonly UpdateRule[];
}

const none = { cpuMs: 0, passes: 0, renders: 0, apiRequests: 0, watchEvents: 0, bytes: 0 };

/** Rows of what has no name any more; no project or cluster has these names. */
const deleted = '(deleted Applications)';
const unresolved = '(no cluster)';

/** Costs of this replica over the last hour. */
export function costPage(facts: ReplicaFacts, index: ApplicationIndex, subject: CostSubject): CostPage {
  const { costs } = facts.controller;
  const now = facts.clock.monotonic();
  const windowMs = Math.round(costs.apps.coveredMs(now));
  const apps = [...costs.apps.rows(now)].map(([name, row]) => ({ name, ...row }));
  const rows: Readonly<Record<CostSubject, () => readonly CostRow[]>> = {
    apps: () => apps,
    projects: () =>
      addUp(apps.map((row) => ({ ...row, name: index.find(row.name as AppKey)?.summary.project ?? deleted }))),
    clusters: () =>
      addUp([...apps.map((row) => ({ ...row, name: serverOf(facts, row.name) })), ...liveCosts(facts, 'clusters')]),
    kinds: () => addUp(liveCosts(facts, 'kinds')),
    repositories: () =>
      addUp(
        facts
          .repositories()
          .map(({ url, fetches, renders }) => ({ ...none, name: url, renders, apiRequests: fetches })),
      ),
  };
  const page = { windowMs, items: sorted(rows[subject]()) };
  if (subject !== 'kinds') return page;
  return { ...page, rules: facts.watched().flatMap(({ info, changed }) => proposeUpdateRules(info.server, changed)) };
}

function serverOf({ controller }: ReplicaFacts, key: string): string {
  const app = controller.application(key as AppKey);
  return app === undefined ? deleted : (controller.clusterOf(app)?.server ?? unresolved);
}

/** Events since the watches began, and memory: what the live state of clusters and kinds costs. */
function liveCosts(facts: ReplicaFacts, by: 'clusters' | 'kinds'): readonly CostRow[] {
  return facts.watched().flatMap(({ info, kinds, bytes }) =>
    by === 'clusters'
      ? [{ ...none, name: info.server, bytes }]
      : kinds.map(({ group, kind, events, bytes: taken }) => ({
          ...none,
          name: `${group}/${kind}`,
          watchEvents: events,
          bytes: taken,
        })),
  );
}

/** One row for each name. */
export function addUp(rows: readonly CostRow[]): readonly CostRow[] {
  const totals = new Map<string, CostRow>();
  for (const row of rows) {
    const before = totals.get(row.name) ?? { ...none, name: row.name };
    totals.set(row.name, {
      name: row.name,
      cpuMs: before.cpuMs + row.cpuMs,
      passes: before.passes + row.passes,
      renders: before.renders + row.renders,
      apiRequests: before.apiRequests + row.apiRequests,
      watchEvents: before.watchEvents + row.watchEvents,
      bytes: before.bytes + row.bytes,
    });
  }
  return [...totals.values()];
}

/** The most expensive first. */
export function sorted(rows: readonly CostRow[]): readonly CostRow[] {
  return rows
    .map(roundedCost)
    .toSorted((a, b) => b.cpuMs - a.cpuMs || b.watchEvents - a.watchEvents || (a.name < b.name ? -1 : 1));
}
