import { isAutomated, keyOfStatus } from '#model';
import type { Application, ResourceKey } from '#model';
import { parseTime } from '../shared/kube-time.ts';

/** An Application that has probably drifted since its last comparison. */
export interface Suspicion {
  readonly app: Application;
  /** Its newest foreign change, in seconds since 1970; Infinity: an object is gone. */
  readonly changedAt: number;
}

/**
 * Why an Application has probably drifted since the comparison in its status: an object is missing
 * or was changed by another client later, or a sync was due. Undefined: nothing suggests that. Only
 * a hint for the order of comparisons: some changes leave no trace, and some are no drift.
 * @param foreignEditSeconds see `LiveCluster`
 */
export function suspicionOf(
  app: Application,
  foreignEditSeconds: (key: ResourceKey) => number | undefined,
): Suspicion | undefined {
  const { reconciledAt, resources = [], sync } = app.status ?? {};
  const comparedAt = parseTime(reconciledAt);
  if (comparedAt === undefined) return undefined;
  let changedAt = 0;
  for (const resource of resources) {
    // A finished hook may be gone.
    if (resource.hook === true) continue;
    const wasMissing = resource.status === 'OutOfSync';
    const edit = foreignEditSeconds(keyOfStatus(resource)) ?? (wasMissing ? 0 : Infinity);
    if (edit > comparedAt / 1000 && edit > changedAt) changedAt = edit;
  }
  const isDue = sync?.status === 'OutOfSync' && isAutomated(app.spec);
  return changedAt > 0 || isDue ? { app, changedAt } : undefined;
}

/**
 * Most Applications of a cluster that go first: they use the priority of live changes, which must
 * not wait long.
 */
const maxShare = 0.05;
const minFirst = 20;

/** The suspects to compare first, in their order: automated ones, the newest change first. */
export function worthFirst(suspects: readonly Suspicion[], applications: number): readonly Suspicion[] {
  const weigh = ({ app, changedAt }: Suspicion): readonly [number, number] => [
    isAutomated(app.spec) ? 1 : 0,
    changedAt,
  ];
  const weighed = suspects.map((suspect) => ({ suspect, weight: weigh(suspect) }));
  weighed.sort(({ weight: a }, { weight: b }) => b[0] - a[0] || (b[1] > a[1] ? 1 : b[1] < a[1] ? -1 : 0));
  return weighed.slice(0, Math.max(minFirst, Math.floor(applications * maxShare))).map(({ suspect }) => suspect);
}
