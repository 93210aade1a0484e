import { seededRandom } from '#base';
import { openProject } from '#support';
import { configMap, isHook, namespace, valuesOf, withValue } from './content.ts';
import { silentMs, silentWait, unfinished } from './oracle.ts';
import type { SeenWaits } from './oracle.ts';
import { askForSync } from './people.ts';
import { Draw } from './plan.ts';
import { leaseMs } from './replica.ts';
import type { WorldReplica } from './replica.ts';
import type { World } from './world.ts';

/*
 * Promises that hold once everything is calm, each with a deadline far below the resync of one
 * minute, which would hide a lost event: a schedule checks one of them after it has settled.
 */

type Probe = (world: World, app: string) => Promise<string | undefined>;

/** How long a change may stay unseen. */
const seenMs = 6000;
/** Twice the interval of the audit of a watch. */
const auditedMs = 200_000;
const healedMs = 90_000;
/** A lease, the longest backoff by a clock that was ahead, and one time-out of Git. */
const awayMs = 140_000;

const probes: Readonly<Record<string, Probe>> = {
  'a change of the spec during a pass is seen after it': async (world, app) => {
    // A step of a pass that asks Git takes three seconds.
    world.git.disturb('slow', 4000);
    refresh(world, app);
    await world.playTo(world.elapsedMs + 1500);
    const { sha } = world.git.commit(app, world.git.head(app).objects.values());
    world.editApp(app, ({ spec }) => ({ spec: { ...spec, source: { ...spec.source, targetRevision: sha } } }));
    world.setTarget(app);
    await world.playTo(world.elapsedMs + 2 * seenMs);
    if (world.app(app)?.status?.sync?.revision !== sha) return 'the new revision is not compared with';
    return settled(world);
  },
  'an event that a watch loses is found by the audit': async (world, app) => {
    world.network.disturb(world.clusterOf(app).url, 'lossy', undefined);
    drift(world, app);
    await world.playTo(world.elapsedMs + auditedMs);
    return unseen(world, app);
  },
  'values that Redis lost are written again': async (world) => {
    world.redis.disturb('flushed', 0);
    await world.playTo(world.elapsedMs + seenMs);
    return unfinished(world);
  },
  'a project that forbids the destination stops all writes': async (world, app) => {
    changeProject(world, { destinations: [{ server: 'https://elsewhere.world', namespace: '*' }] });
    await world.playTo(world.elapsedMs + seenMs);
    drift(world, app);
    const { clusterWrites } = world.rules;
    await world.playTo(world.elapsedMs + 2 * seenMs);
    const conditions = world.app(app)?.status?.conditions ?? [];
    if (!conditions.some(({ type }) => type === 'InvalidSpecError')) return 'a forbidden destination is not reported';
    if (world.rules.clusterWrites > clusterWrites) return 'a forbidden destination is written to';
    changeProject(world, {});
    return settled(world);
  },
  'a project that forbids a kind stops its writes': async (world, app) => {
    changeProject(world, { namespaceResourceBlacklist: [{ group: '', kind: 'ConfigMap' }] });
    await world.playTo(world.elapsedMs + seenMs);
    drift(world, app);
    const { clusterWrites } = world.rules;
    await world.playTo(world.elapsedMs + 2 * seenMs);
    if (world.rules.clusterWrites > clusterWrites) return 'a forbidden kind is written';
    changeProject(world, {});
    world.setManner(app, 'automated');
    return waitUntil(world, healedMs, () => (driftOf(world, app) === undefined ? undefined : unseen(world, app)));
  },
  'a deny window holds automated syncs back': async (world, app) => {
    const window = { kind: 'deny', schedule: '* * * * *', duration: '1h', applications: ['*'], manualSync: true };
    changeProject(world, { syncWindows: [window] });
    await world.playTo(world.elapsedMs + seenMs);
    drift(world, app);
    const { clusterWrites } = world.rules;
    await world.playTo(world.elapsedMs + 2 * seenMs);
    if (world.rules.clusterWrites > clusterWrites) return 'an automated sync runs in a deny window';
    if (world.app(app)?.status?.sync?.status !== 'OutOfSync') return 'a drift in a deny window is not shown';
    changeProject(world, {});
    return settled(world);
  },
  'a rule of the settings that ignores a field applies at once, and ends at once': async (world, app) => {
    changeSettings(world, {
      'resource.customizations.ignoreDifferences.ConfigMap': 'jsonPointers:\n- /data/key\n',
    });
    await world.playTo(world.elapsedMs + seenMs);
    drift(world, app);
    await world.playTo(world.elapsedMs + seenMs);
    const shown = world.app(app)?.status?.resources?.find(({ name }) => name === `${app}-c0`)?.status;
    if (shown !== 'Synced' && driftOf(world, app) !== undefined) return 'an ignored difference is shown';
    if (driftOf(world, app) === undefined) return 'an ignored difference is healed';
    changeSettings(world, {});
    await world.playTo(world.elapsedMs + 2 * seenMs);
    return unseen(world, app) ?? settled(world);
  },
  'two syncs in a row have an end, an Event and hooks of their own': async (world, app) => {
    // Events of earlier syncs may still be on their way.
    await world.playTo(world.elapsedMs + seenMs);
    const [events, ends] = [endEventsOf(world, app), endsOf(world, app)];
    for (let n = 1; n <= 2; n += 1) {
      askForSync(world, app, false);
      const isOver = (): boolean => world.app(app)?.operation === undefined && endsOf(world, app) >= ends + n;
      const ended = await waitUntil(world, healedMs, () => (isOver() ? undefined : 'a sync does not end'));
      if (ended !== undefined) return ended;
    }
    await world.playTo(world.elapsedMs + 2000);
    const [reported, recorded] = [endEventsOf(world, app) - events, endsOf(world, app) - ends];
    return reported === recorded ? undefined : `${reported} Events report the ends of ${recorded} syncs`;
  },
  'a push is seen after a refresh, and an object that Git lost is pruned if it may be': async (world, app) => {
    const added = configMap(`${app}-probe`, 'v1');
    world.git.commit(app, [...world.git.head(app).objects.values(), added]);
    world.setTarget(app);
    refresh(world, app);
    const created = await settled(world);
    if (created !== undefined || world.live(app, added) === undefined) return created ?? 'a pushed object is missing';
    world.setManner(app, 'automated without prune');
    world.git.commit(
      app,
      [...world.git.head(app).objects.values()].filter(({ metadata }) => metadata.name !== added.metadata.name),
    );
    world.setTarget(app);
    refresh(world, app);
    await world.playTo(world.elapsedMs + 2 * seenMs);
    // A sync for another difference, which must not prune either.
    drift(world, app);
    await world.playTo(world.elapsedMs + seenMs);
    if (world.live(app, added) === undefined) return 'an object is pruned although pruning is switched off';
    world.setManner(app, 'automated');
    const pruned = await settled(world);
    return pruned ?? (world.live(app, added) === undefined ? undefined : 'an object that Git lost is not pruned');
  },
};

/** Promises about long times, which a quarter of the schedules check as well. */
const longProbes: Readonly<Record<string, Probe>> = {
  'drift is repaired while Git is away': async (world, app) => {
    world.git.disturb(world.plan.seed % 16 < 8 ? 'fails' : 'hangs', 20 * healedMs);
    for (let n = 0; n < 4; n += 1) {
      // A new process knows the commit by the status and by its disk only.
      if (n === 1) world.restart(0, 'kill', 1000);
      if (n === 2) refresh(world, app);
      drift(world, app);
      const left = await waitUntil(world, awayMs, () => driftOf(world, app));
      if (left !== undefined) return left;
      await world.playTo(world.elapsedMs + seenMs);
    }
    world.git.calm();
    refresh(world, app);
    return settled(world);
  },
  'nothing waits silently': async (world, app) => {
    const window = { kind: 'deny', schedule: '* * * * *', duration: '1h', applications: ['*'] };
    changeProject(world, { syncWindows: [window] });
    await world.playTo(world.elapsedMs + seenMs);
    askForSync(world, app, false);
    const waits: SeenWaits = new Map();
    const end = world.elapsedMs + silentMs + seenMs;
    while (world.elapsedMs < end && world.violation === undefined) {
      await world.playTo(world.elapsedMs + 3000);
      const silent = silentWait(world, waits, silentMs);
      if (silent !== undefined) return silent;
    }
    if (world.app(app)?.operation === undefined) return 'a sync runs in a deny window';
    changeProject(world, {});
    return settled(world);
  },
};
/** The promise of replicas that offer their clusters; their schedules check it. */
const offerProbes: Readonly<Record<string, Probe>> = {
  'clusters that their owner does not reach are repaired by another replica': async (world, app) => {
    if (world.desired < 2) world.scale(2);
    // Clusters that a change of the replicas moves are at home afterwards.
    await world.playTo(world.elapsedMs + 2 * leaseMs);
    const ready = (await settled(world)) ?? (await waitUntil(world, 2 * healedMs, () => noOwner(world, app)));
    const owner = ownerOf(world, app);
    if (ready !== undefined || owner === undefined) return ready;
    for (const { url } of world.clusters) world.network.cut(owner.name, url, 20 * healedMs);
    drift(world, app);
    const taken = await waitUntil(world, takenMs, () => driftOf(world, app));
    if (taken !== undefined) return `${taken}, ${takenMs} ms after ${owner.name} lost its clusters`;
    if (!offers(owner)) return `${owner.name} does not report that none of its clusters answers`;
    // The next process offers them only after a lease, and must not get them back before.
    world.restart(owner.index, 'kill', 1000);
    for (let n = 0; n < 6; n += 1) {
      drift(world, app);
      const left = await waitUntil(world, keptMs, () => driftOf(world, app));
      if (left !== undefined) return `${left}, after a restart of ${owner.name}`;
      await world.playTo(world.elapsedMs + leaseMs / 3);
    }
    world.network.calm();
    const isHome = (): boolean => ownerOf(world, app)?.index === owner.index && !world.alive().some(offers);
    return waitUntil(world, takenMs, () => (isHome() ? undefined : `${owner.name} does not get its clusters back`));
  },
};
/** A lease without answers, three rounds of probes, a hand-over and a repair. */
const takenMs = 3 * leaseMs;
/** The longest backoff of a repair, and five seconds: less than a lease. */
const keptMs = 25_000;

/** So the other schedules stay as they are. */
const firstLong = 4;

/** Checks promises, chosen by the seed, with an Application that is synced automatically. */
export async function checkCalm(world: World): Promise<void> {
  const { seed, offers: isOffered } = world.plan;
  if (isOffered === true) return check(world, Object.keys(offerProbes)[0] ?? '', offerProbes);
  await check(world, new Draw(seededRandom(seed ^ 0x9a0b)).pick(Object.keys(probes)), probes);
  const long = Object.keys(longProbes)[(seed % 8) - firstLong];
  if (long !== undefined && world.violation === undefined) await check(world, long, longProbes);
}

async function check(world: World, name: string, from: Readonly<Record<string, Probe>>): Promise<void> {
  const app = world.appNames.find((each) => isUsable(world, each));
  world.network.reviveWatches();
  // Before anything is measured, the replicas see the events that a silent watch has hidden.
  if (app === undefined) return world.playTo(world.elapsedMs + seenMs);
  world.counts.add('promise checked in the calm');
  world.note(`checks with ${app}: ${name}`);
  world.setManner(app, 'automated');
  const failure = (await settled(world)) ?? (await from[name]?.(world, app)) ?? (await settled(world));
  if (failure !== undefined) world.break(`${name}: ${failure}`);
}

/** It exists, follows its branch, and a sync would not be held back by an earlier failure. */
function isUsable(world: World, name: string): boolean {
  const app = world.app(name);
  if (app === undefined || app.spec.source?.targetRevision !== 'main') return false;
  const failed = ['Failed', 'Error'].includes(app.status?.operationState?.phase ?? '');
  return !failed && world.live(name, configMap(`${name}-c0`, '')) !== undefined && inGit(world, name) !== undefined;
}

function inGit(world: World, app: string): ReturnType<typeof configMap> | undefined {
  const wanted = world.target(app)?.objects.get(`ConfigMap ${app}-c0`);
  return wanted === undefined || isHook(wanted) ? undefined : wanted;
}

/** Everything is as Git and the rules demand within a limit, and nothing was broken. */
function settled(world: World): Promise<string | undefined> {
  return waitUntil(world, healedMs, () => unfinished(world));
}

async function waitUntil(
  world: World,
  limitMs: number,
  wrongNow: () => string | undefined,
): Promise<string | undefined> {
  const end = world.elapsedMs + limitMs;
  for (;;) {
    const wrong = wrongNow();
    if (wrong === undefined || world.violation !== undefined || world.elapsedMs >= end) return wrong;
    await world.playTo(world.elapsedMs + 250);
  }
}

/** Changes the live value of the first ConfigMap. */
function drift(world: World, app: string): void {
  const live = world.live(app, configMap(`${app}-c0`, ''));
  if (live !== undefined) world.clusterOf(app).store.put('configmaps', withValue(live, `drift-${world.elapsedMs}`));
}

/** The drift of the first ConfigMap; undefined: it is as Git demands. */
function driftOf(world: World, app: string): string | undefined {
  const [wanted, live] = [inGit(world, app), world.live(app, configMap(`${app}-c0`, ''))];
  if (wanted !== undefined && live !== undefined && valuesOf(wanted) === valuesOf(live)) return undefined;
  return `the ConfigMap ${app}-c0 in ${namespace} differs from Git`;
}

/** A drift that is neither healed nor shown. */
function unseen(world: World, app: string): string | undefined {
  const isShown = world.app(app)?.status?.sync?.status === 'OutOfSync';
  return isShown ? undefined : driftOf(world, app);
}

function ownerOf(world: World, app: string): WorldReplica | undefined {
  return world.alive().find(({ controller }) => [...controller.report.owned()].some((key) => key.endsWith(`/${app}`)));
}

function noOwner(world: World, app: string): string | undefined {
  return ownerOf(world, app) === undefined ? `no replica owns ${app}` : undefined;
}

function offers({ ownership }: WorldReplica): boolean {
  return ownership.conditions().some(({ type }) => type === 'ClustersUnreached');
}

function refresh(world: World, app: string): void {
  world.editApp(app, ({ metadata }) => ({
    metadata: { ...metadata, annotations: { ...metadata.annotations, 'argocd.argoproj.io/refresh': 'normal' } },
  }));
}

function changeProject(world: World, spec: Readonly<Record<string, unknown>>): void {
  world.hub.store.put('appprojects', openProject(spec));
}

function changeSettings(world: World, data: Readonly<Record<string, string>>): void {
  const found = world.hub.store.get('configmaps', 'argocd', 'argocd-cm');
  if (found !== undefined) world.hub.store.put('configmaps', { ...found, data: { ...world.settingsData, ...data } });
}

function endsOf(world: World, app: string): number {
  return [...world.rules.ends.keys()].filter((key) => key.startsWith(`${app} `)).length;
}

function endEventsOf(world: World, app: string): number {
  return world.hub.store
    .list('events')
    .filter((event) => event['reason'] === 'OperationCompleted' && isAbout(event['involvedObject'], app)).length;
}

function isAbout(involved: unknown, app: string): boolean {
  return typeof involved === 'object' && involved !== null && 'name' in involved && involved.name === app;
}
