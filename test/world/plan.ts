import { seededRandom } from '#base';
import { Draw, firstOther } from './acts.ts';
import type { Act, AppPlan, PlanWorld, SecretChange, SettingsChange, WorldPlan } from './acts.ts';
import { companionsOf } from './companions.ts';
import type { RequestFault, WatchFault } from './faults.ts';
import type { RedisFault } from './servers/redis.ts';

export { Draw } from './acts.ts';
export type { Act, AppPlan, SecretChange, SyncManner, WorldPlan } from './acts.ts';

/** A random schedule; the same for equal seeds. */
export function planOf(seed: number): WorldPlan {
  const draw = new Draw(seededRandom(seed ^ 0x3017));
  // Half of the schedules are small: they cost a third, and show most faults.
  const isSmall = seed % 2 === 0;
  const replicas = 1 + draw.below(isSmall ? 2 : 3);
  const clusters = isSmall ? 1 : 1 + draw.below(2);
  const troubleMs = isSmall ? 15_000 + draw.below(15_000) : 40_000 + draw.below(40_000);
  const clusterQps = draw.pick([500, 500, 500, 3]);
  const apps = Array.from({ length: isSmall ? 1 + draw.below(2) : 2 + draw.below(2) }, (): AppPlan => ({
    cluster: draw.below(clusters),
    manner: draw.pick(['automated', 'automated', 'automated without prune', 'manual']),
    cascades: draw.below(3) > 0,
  }));
  const world = { draw, replicas, clusters, apps: apps.length, homes: apps.map(({ cluster }) => cluster) };
  const acts: Act[] = [];
  for (let n = isSmall ? 4 + draw.below(6) : 8 + draw.below(16); n > 0; n -= 1) {
    const at = 3000 + draw.below(troubleMs - 3000);
    const act = draw.below(5) < 3 ? someFault(at, world) : somePerson(at, world);
    acts.push(act, ...companionsOf(act, world));
  }
  acts.sort((a, b) => a.at - b.at);
  const plan = { seed, replicas, clusters, troubleMs, clusterQps, apps, acts };
  if (seed % 16 === 15) return withOtherRelease(plan);
  if (seed % 32 > 24 && seed % 32 < 31) return withLostSettings(plan);
  if (seed % 32 === 21 || seed % 32 === 22) return withLostClusters(plan);
  return seed % 16 === 7 ? { ...plan, scoped: true } : plan;
}

/** Another release has one or two replicas, and a part of the faults. */
function withOtherRelease(plan: WorldPlan): WorldPlan {
  const draw = new Draw(seededRandom(plan.seed ^ 0x07e1));
  const others = 1 + draw.below(2);
  const acts = plan.acts.map((act) =>
    'by' in act && draw.below(2) === 0 ? { ...act, by: firstOther + draw.below(others) } : act,
  );
  return { ...plan, others, acts };
}

/**
 * Settings vanish and become unreadable, cluster Secrets too, and kinds may not be read, while an
 * operator owns a field of each Application.
 */
function withLostSettings(plan: WorldPlan): WorldPlan {
  const draw = new Draw(seededRandom(plan.seed ^ 0x5e77));
  const acts: Act[] = [...plan.acts];
  for (let n = 3 + draw.below(4); n > 0; n -= 1) {
    const at = 4000 + draw.below(plan.troubleMs - 5000);
    const app = draw.below(plan.apps.length);
    const act = someLoss(at, plan, draw);
    const restart = { at: at + 1000, do: 'restart', by: draw.below(plan.replicas), how: 'kill', downMs: 500 } as const;
    acts.push({ at: at - 3000, do: 'own', app }, act, { at: at + 500, do: 'own', app });
    acts.push({ at: at + 2000 + draw.below(5000), do: 'edit', app, change: 'set', item: draw.below(8) });
    if (draw.below(2) === 0) acts.push(restart);
    if (act.do === 'secret' && draw.below(2) === 0) acts.push({ at: at + 1000, do: 'delete', app });
  }
  acts.sort((a, b) => a.at - b.at);
  return { ...plan, owned: true, ...(draw.below(2) === 0 ? { scoped: true } : {}), acts };
}

/**
 * A replica reaches the hub, but none of its clusters, for longer than a lease. Often it is
 * restarted meanwhile.
 */
function withLostClusters(plan: WorldPlan): WorldPlan {
  const draw = new Draw(seededRandom(plan.seed ^ 0x0ff3));
  const by = draw.below(2);
  const at = 3000 + draw.below(10_000);
  const ms = 45_000 + draw.below(40_000);
  const acts: Act[] = [...plan.acts, { at, do: 'cut', from: 'clusters', by, ms }];
  for (const afterMs of [1000, 15_000 + draw.below(10_000), 40_000 + draw.below(20_000)])
    acts.push({ at: at + afterMs, do: 'edit', app: draw.below(plan.apps.length), change: 'set', item: draw.below(8) });
  const how = draw.pick(['kill', 'stop', undefined]);
  const downMs = 500 + draw.below(12_000);
  if (how !== undefined) acts.push({ at: at + 30_000 + draw.below(ms - 30_000), do: 'restart', by, how, downMs });
  acts.sort((a, b) => a.at - b.at);
  return { ...plan, replicas: Math.max(2, plan.replicas), troubleMs: at + ms, offers: true, acts };
}

function someLoss(at: number, { clusters, troubleMs }: WorldPlan, draw: Draw): Act {
  const ms = 300 + draw.below(troubleMs - at);
  const cluster = draw.below(clusters);
  const resource = draw.pick(['configmaps', 'secrets', 'persistentvolumeclaims']);
  switch (draw.below(6)) {
    case 0:
      return { at, do: 'secret', cluster, change: draw.pick(secretLosses), ms };
    case 1: {
      const where = draw.pick([{}, { namespace: 'apps' }, { namespace: 'elsewhere' }]);
      return { at, do: 'unread', cluster, resource, verbs: 'list and watch', code: 403, ...where, ms };
    }
    case 2:
      return { at, do: 'unread', cluster, resource, verbs: 'watch', code: draw.pick([403, 500, 501, 503]), ms };
    default:
      return { at, do: 'settings', change: draw.pick(settingsChanges), ms };
  }
}

const secretLosses: readonly SecretChange[] = ['deleted', 'without its type', 'config truncated', 'server emptied'];
const settingsChanges: readonly SettingsChange[] = ['deleted', 'emptied', 'text instead of a list', 'bad YAML'];

function someFault(at: number, { draw, replicas, clusters }: PlanWorld): Act {
  const by = draw.below(replicas);
  const to = draw.below(3) === 0 ? 'hub' : draw.below(clusters);
  switch (draw.below(24)) {
    case 0:
      return { at, do: 'restart', by, how: draw.pick(['kill', 'kill', 'stop']), downMs: 500 + draw.below(12_000) };
    case 1:
    case 2:
      return { at, do: 'freeze', by, how: draw.pick(['stop', 'suspend']), ms: 1000 + draw.below(80_000) };
    case 3:
      return { at, do: 'jump', by, ms: draw.below(1_200_000) - 600_000 };
    case 4:
      return { at, do: 'cut', from: to, by, ms: 1000 + draw.below(70_000) };
    case 5:
      return { at, do: 'restore', cluster: draw.below(clusters), agoMs: 1000 + draw.below(15_000) };
    case 6:
      return { at, do: 'git', fault: draw.pick(['fails', 'hangs', 'slow']), ms: 2000 + draw.below(20_000) };
    case 7:
      return { at, do: 'scale', replicas: draw.pick([1, 1, 2, 3, 5]) };
    case 8:
    case 9:
    case 10:
      return { at, do: 'watch', to, fault: draw.pick(to === 'hub' ? hubWatchFaults : watchFaults) };
    case 11:
    case 12:
    case 13: {
      const which = someRequests(by, to, draw);
      return { at, do: 'outage', to, ...which, fault: someOutage(draw), ms: 5000 + draw.below(75_000) };
    }
    case 14:
    case 15:
      return { at, do: 'redis', fault: draw.pick(redisFaults), ms: 1000 + draw.below(40_000) };
    case 17:
      return {
        at,
        do: 'secret',
        cluster: draw.below(clusters),
        change: draw.pick(secretChanges),
        ms: draw.below(40_000),
      };
    case 18:
      return { at, do: 'split', cluster: draw.below(clusters), parts: draw.pick([1, 2, 4]) };
    case 16:
      return { at, do: 'request', to: draw.below(clusters), verbs: 'write', fault: { is: 'overtaken' }, times: 1 };
    default: {
      const which = someRequests(by, to, draw);
      const fault = someRequestFault(draw);
      return {
        at,
        do: 'request',
        to,
        ...which,
        fault,
        times: 1 + draw.below(4),
        ...aimOf(fault, draw.below(clusters)),
      };
    }
  }
}

/** The requests that a fault is made for. */
function aimOf({ is }: RequestFault, cluster: number): Partial<Extract<Act, { do: 'request' }>> {
  if (is === 'echo') return { to: cluster, verbs: 'write', resource: 'secrets' };
  return is === 'reset, committed late' ? { to: 'hub', verbs: 'write', resource: 'applications' } : {};
}

function someRequests(by: number, to: number | 'hub', draw: Draw): Pick<Extract<Act, { do: 'outage' }>, 'verbs'> {
  const verbs = draw.pick(['read', 'write', 'write', 'any'] as const);
  const resource = draw.pick(
    to === 'hub' ? ['applications', 'configmaps', undefined] : ['secrets', undefined, undefined],
  );
  return { verbs, ...(draw.below(2) === 0 ? {} : { by }), ...(resource === undefined ? {} : { resource }) };
}

/** A lasting fault: a hub or cluster is slow, refuses, throttles or does not answer. */
function someOutage(draw: Draw): RequestFault {
  const ms = 500 + draw.below(8500);
  return draw.pick<RequestFault>([
    { is: 'refused' },
    { is: 'reset' },
    { is: 'committed and reset' },
    { is: 'no answer' },
    { is: 'committed, no answer' },
    { is: 'slow', ms },
    { is: 'slow', ms },
    { is: 'late answer', ms },
    { is: 'late answer', ms: 2 * ms },
    { is: 'status', code: draw.pick([403, 409, 500]) },
    { is: 'status', code: draw.pick([429, 503]), retryAfterS: 1 + draw.below(10) },
  ]);
}

/** A lost event of the hub is found by an audit after half an hour, which is too long here. */
const hubWatchFaults: readonly WatchFault[] = [
  'silent',
  'closed',
  'cut',
  'expired',
  'repeated',
  'garbled',
  'another kind',
];
const watchFaults: readonly WatchFault[] = [...hubWatchFaults, 'reordered', 'lossy'];

const secretChanges: readonly SecretChange[] = ['url of another cluster', 'url with a slash', 'renamed', 'deleted'];

const redisFaults: readonly RedisFault[] = [
  'down',
  'hangs',
  'full',
  'loading',
  'flushed',
  'replaced',
  'evicts',
  'lying',
];

function someRequestFault(draw: Draw): RequestFault {
  const ms = 500 + draw.below(8500);
  return draw.pick<RequestFault>([
    { is: 'refused' },
    { is: 'reset' },
    { is: 'committed and reset' },
    { is: 'committed and reset' },
    { is: 'no answer' },
    { is: 'committed, no answer' },
    { is: 'committed, no answer' },
    { is: 'slow', ms },
    { is: 'late answer', ms: 4 * ms },
    { is: 'status', code: draw.pick([401, 403, 404, 409, 410, 500, 503]) },
    { is: 'status', code: draw.pick([429, 503]), retryAfterS: 1 + draw.below(5) },
    { is: 'echo' },
    { is: 'not JSON' },
    { is: 'truncated' },
    { is: 'another kind' },
    { is: 'strange items' },
    { is: 'reset, committed late', ms },
    { is: 'duplicated' },
    { is: 'killed before' },
    { is: 'killed after' },
    { is: 'frozen before', ms: 1000 + draw.below(80_000) },
    { is: 'frozen before', ms: 36_000 + draw.below(40_000) },
    { is: 'frozen before', ms: 36_000 + draw.below(40_000) },
    { is: 'frozen after', ms: 1000 + draw.below(80_000) },
  ]);
}

function somePerson(at: number, { draw, clusters, apps }: PlanWorld): Act {
  const app = draw.below(apps);
  const item = draw.below(8);
  switch (draw.below(17)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return { at, do: 'push', app, change: draw.pick(['set', 'set', 'add', 'remove', 'revert']), item };
    case 4:
    case 5:
    case 6:
    case 7:
      return { at, do: 'edit', app, change: draw.pick(['set', 'set', 'delete', 'keep']), item };
    case 16:
      return { at, do: 'abandon', app, item };
    case 8:
      return { at, do: 'foreign', cluster: draw.below(clusters) };
    case 9:
    case 10:
    case 11:
      return { at, do: 'sync', app, prune: draw.below(2) === 0 };
    case 12:
      return { at, do: draw.pick(['terminate', 'delete']), app };
    case 13:
      return { at, do: 'refresh', app, hard: draw.below(2) === 0 };
    case 14:
      return { at, do: 'pin', app, back: draw.below(3) };
    default:
      return { at, do: 'manner', app, manner: draw.pick(['automated', 'automated without prune', 'manual']) };
  }
}
