import { seededRandom } from '#base';
import type { RandomSource } from '#base';
import type { RequestFault, WatchFault } from './faults.ts';
import type { GitFault } from './servers/git.ts';
import type { RedisFault } from './servers/redis.ts';

/** Temporary changes of the Secret of a cluster. */
export type SecretChange = 'url of another cluster' | 'url with a slash' | 'renamed' | 'deleted';

/** How an Application is synced. */
export type SyncManner = 'automated' | 'automated without prune' | 'manual';

export interface AppPlan {
  readonly cluster: number;
  readonly manner: SyncManner;
  /** Deleting the Application deletes its objects. */
  readonly cascades: boolean;
}

/** A fault, or the act of a person. `at`: milliseconds since the start. */
export type Act = { readonly at: number } & (
  | {
      readonly do: 'request';
      readonly to: number | 'hub';
      readonly verbs: 'read' | 'write' | 'any';
      readonly by?: number;
      readonly resource?: string;
      readonly fault: RequestFault;
      readonly times: number;
    }
  | {
      readonly do: 'outage';
      readonly to: number | 'hub';
      readonly verbs: 'read' | 'write' | 'any';
      readonly by?: number;
      readonly resource?: string;
      readonly fault: RequestFault;
      readonly ms: number;
    }
  | { readonly do: 'watch'; readonly to: number | 'hub'; readonly fault: WatchFault; readonly by?: number }
  | { readonly do: 'cut'; readonly from: number | 'hub'; readonly by: number; readonly ms: number }
  | { readonly do: 'restart'; readonly by: number; readonly how: 'kill' | 'stop'; readonly downMs: number }
  | { readonly do: 'freeze'; readonly by: number; readonly how: 'stop' | 'suspend'; readonly ms: number }
  | { readonly do: 'jump'; readonly by: number; readonly ms: number }
  | { readonly do: 'restore'; readonly cluster: number; readonly agoMs: number }
  | { readonly do: 'git'; readonly fault: GitFault; readonly ms: number }
  | { readonly do: 'redis'; readonly fault: RedisFault; readonly ms: number }
  | { readonly do: 'secret'; readonly cluster: number; readonly change: SecretChange; readonly ms: number }
  | { readonly do: 'split'; readonly cluster: number; readonly parts: number }
  | { readonly do: 'scale'; readonly replicas: number }
  | {
      readonly do: 'push';
      readonly app: number;
      readonly change: 'set' | 'add' | 'remove' | 'revert';
      readonly item: number;
    }
  | { readonly do: 'edit'; readonly app: number; readonly change: 'set' | 'delete' | 'keep'; readonly item: number }
  /** A live object is marked as one to keep, and leaves Git in the same moment. */
  | { readonly do: 'abandon'; readonly app: number; readonly item: number }
  | { readonly do: 'foreign'; readonly cluster: number }
  | { readonly do: 'sync'; readonly app: number; readonly prune: boolean }
  | { readonly do: 'terminate'; readonly app: number }
  | { readonly do: 'refresh'; readonly app: number; readonly hard: boolean }
  | { readonly do: 'pin'; readonly app: number; readonly back: number }
  | { readonly do: 'manner'; readonly app: number; readonly manner: SyncManner }
  | { readonly do: 'delete'; readonly app: number }
);

/** A schedule: plain data, so that it can be printed, shortened and played again. */
export interface WorldPlan {
  readonly seed: number;
  readonly replicas: number;
  readonly clusters: number;
  readonly troubleMs: number;
  /** Requests that a replica sends to one cluster in a second. */
  readonly clusterQps: number;
  readonly apps: readonly AppPlan[];
  readonly acts: readonly Act[];
}

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
    acts.push(act);
    if (isLong(act)) acts.push(laterEdit(at, world));
    if (stopsWriter(act)) acts.push(...editsAround(act, world));
    if (hidesEvents(act)) acts.push(hiddenEdit(at, world));
    if (isOfHub(act) && draw.below(2) === 0) acts.push(stopMeanwhile(act, world));
    if (isSlowWrite(act)) acts.push(stopMeanwhile(act, world), ...editsNow(act, world));
    acts.push(...reactionsTo(act, world));
  }
  acts.sort((a, b) => a.at - b.at);
  return { seed, replicas, clusters, troubleMs, clusterQps, apps, acts };
}

/** Whether a fault may outlast a lease. */
function isLong(act: Act): boolean {
  if (act.do === 'cut' || act.do === 'freeze' || act.do === 'outage') return true;
  return act.do === 'request' && act.fault.is.startsWith('frozen');
}

function isOfHub(act: Act): boolean {
  return (act.do === 'cut' && act.from === 'hub') || (act.do === 'outage' && act.to === 'hub');
}

/** Stops a replica, the one that a fault hits, while it may be unable to give its shard back. */
function stopMeanwhile(act: Act, { draw, replicas }: PlanWorld): Act {
  const downMs = 500 + draw.below(12_000);
  const by = ('by' in act ? act.by : undefined) ?? draw.below(replicas);
  return { at: act.at + 1000 + draw.below(4000), do: 'restart', by, how: 'stop', downMs };
}

function isSlowWrite(act: Act): boolean {
  return (act.do === 'outage' || act.do === 'request') && act.to !== 'hub' && act.fault.is === 'slow';
}

/** Drifts that are repaired while writes are slow. */
function editsNow({ at }: Act, { draw, apps }: PlanWorld): Act[] {
  const edit = (afterMs: number): Act => ({
    at: at + afterMs,
    do: 'edit',
    app: draw.below(apps),
    change: 'set',
    item: draw.below(8),
  });
  return [edit(200), edit(2000 + draw.below(3000))];
}

/** What makes a fault matter: the requests that it should hit. */
function reactionsTo(act: Act, { draw, apps }: PlanWorld): Act[] {
  const { at } = act;
  const app = draw.below(apps);
  const item = draw.below(8);
  if (act.do === 'sync' && draw.below(3) === 0) return [{ ...act, at: at + 200 + draw.below(800) }];
  if (act.do === 'delete')
    return [
      { at: at - 100, do: 'watch', to: 'hub', fault: 'silent' },
      { at: at - 50, do: 'edit', app: act.app, change: 'set', item },
      { at: at + 3000 + draw.below(9000), do: 'edit', app: act.app, change: 'set', item },
    ];
  if (act.do !== 'request' && act.do !== 'outage') return [];
  const { is } = act.fault;
  if (is === 'overtaken')
    return [
      { at: at + 100, do: 'manner', app, manner: 'automated' },
      { at: at + 200, do: 'push', app, change: 'remove', item },
    ];
  if (is === 'echo') return [{ at: at + 100, do: 'push', app, change: 'set', item: 3 }];
  if (is === 'strange items') return [{ at: at + 100, do: 'watch', to: act.to, fault: 'expired' }];
  if (is !== 'reset, committed late') return [];
  return [0, 1500, 4000].map((afterMs) => ({ at: at + afterMs, do: 'sync', app, prune: false }));
}

function stopsWriter(act: Act): act is Extract<Act, { do: 'request' }> {
  return act.do === 'request' && act.to !== 'hub' && act.fault.is.startsWith('frozen');
}

/** A drift that the process is about to repair when it stops, and one for the next owner. */
function editsAround({ at, to }: { readonly at: number; readonly to: number | 'hub' }, world: PlanWorld): Act[] {
  const { draw, homes } = world;
  const app = homes.findIndex((cluster) => cluster === to);
  if (app < 0) return [];
  const edit = { do: 'edit', app, change: 'set', item: draw.below(8) } as const;
  return [
    { at: at + 100, ...edit },
    { at: at + 38_000 + draw.below(10_000), ...edit },
  ];
}

function hidesEvents(act: Act): boolean {
  return act.do === 'watch' && ['lossy', 'reordered', 'silent'].includes(act.fault);
}

/** A drift that the disturbed watch does not show, or shows in the wrong order. */
function hiddenEdit(at: number, { draw, apps }: PlanWorld): Act {
  const app = draw.below(apps);
  return { at: at + 100 + draw.below(3000), do: 'edit', app, change: 'set', item: draw.below(8) };
}

/** Makes both the former and the next owner write while the former one is away, or comes back. */
function laterEdit(at: number, { draw, apps }: PlanWorld): Act {
  const app = draw.below(apps);
  return { at: at + 25_000 + draw.below(50_000), do: 'edit', app, change: 'set', item: draw.below(8) };
}

interface PlanWorld {
  readonly draw: Draw;
  readonly replicas: number;
  readonly clusters: number;
  readonly apps: number;
  /** The cluster of each Application. */
  readonly homes: readonly number[];
}

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
      return { at, do: 'request', to, ...which, fault: someRequestFault(draw), times: 1 + draw.below(4) };
    }
  }
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

/** Draws from a random source. */
export class Draw {
  readonly #random: RandomSource;

  constructor(random: RandomSource) {
    this.#random = random;
  }

  below(n: number): number {
    return Math.floor(this.#random.next() * n);
  }

  pick<const T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
}
