import { messageOf } from '#base';
import { isCompleted } from '#model';
import type { Application, KubeObject } from '#model';
import { hasCanary, hasSyncOption, isHook, trackedBy, valuesOf } from './content.ts';
import { nameOf } from './servers/git.ts';
import { managedKeyOf, treeKeyOf } from './servers/redis.ts';
import { graceMs, hubUrl } from './replica.ts';
import type { World } from './world.ts';

const answerMs = 1000;

/** The first difference from what Git and the rules demand; undefined: there is none. */
export function unfinished(world: World): string | undefined {
  for (const name of world.appNames) {
    const wrong = wrongWith(world, name);
    if (wrong !== undefined) return `${name}: ${wrong}`;
  }
  for (const [username, app] of world.asked) {
    if (world.app(app) === undefined) continue;
    const ends = [...world.rules.ends].filter(([key]) => key.startsWith(`${app} ${username} `));
    if (ends.length !== 1) return `the sync of ${app} by ${username} has ${ends.length} recorded ends`;
  }
  return unfinishedFleet(world);
}

/**
 * The first difference, or a status that is still to be written: after a clock was set back, a
 * comparison is dated before the end of its operation until the clock has caught up.
 */
export function unsettled(world: World): string | undefined {
  const early = world.appNames.find((name) => {
    const { reconciledAt = '', operationState } = world.app(name)?.status ?? {};
    return Date.parse(reconciledAt) < Date.parse(operationState?.finishedAt ?? '');
  });
  return unfinished(world) ?? (early && `${early}: its comparison is dated before the end of its operation`);
}

/** How long something may wait without a condition. */
export const silentMs = 360_000;

/** Waits of Applications by their work, and when each was seen first. */
export type SeenWaits = Map<string, number>;

/** An Application that has waited for longer than `limitMs` since `seen`, without a condition. */
export function silentWait(world: World, seen: SeenWaits, limitMs: number): string | undefined {
  for (const name of world.appNames) {
    const { metadata, operation, status } = world.app(name) ?? {};
    const state = status?.operationState;
    const isRunning = operation !== undefined || (state !== undefined && !isCompleted(state.phase));
    const refresh = metadata?.annotations?.['argocd.argoproj.io/refresh'];
    const done = (state?.syncResult?.resources ?? []).filter(({ hookPhase }) => hookPhase !== 'Running').length;
    const work =
      metadata?.deletionTimestamp ?? (isRunning ? `${state?.startedAt ?? ''} ${done}` : undefined) ?? refresh;
    if (work === undefined) continue;
    const key = `${name} ${work}`;
    const since = seen.get(key) ?? world.elapsedMs;
    seen.set(key, since);
    if (world.elapsedMs - since > limitMs && (status?.conditions ?? []).length === 0)
      return `${name} waits silently: ${state?.message ?? work}`;
  }
  return undefined;
}

/** Each Application is shown by exactly one replica, and none that is deleted. */
function unfinishedFleet(world: World): string | undefined {
  const missing = world.expected().filter((index) => world.replica(index) === undefined);
  if (missing.length > 0) return `replica ${missing.join()} is missing`;
  const frozen = world.alive().find(({ clock }) => clock.machine.isStopped());
  if (frozen !== undefined) return `${frozen.name} is frozen`;
  if (world.network.lateRequests > 0) return 'a request that failed is still to be carried out';
  if (world.network.hasSilentWatch(hubUrl)) return 'a watch of the hub is silent, and its replica does not know';
  const known = world
    .alive()
    .flatMap(({ controller }) => [...controller.report.owned()].map((key) => key.replace(/^argocd\//, '')));
  const wanted = world.appNames.filter((name) => world.app(name) !== undefined);
  return known.sort().join() === wanted.join() ? undefined : `replicas own ${known.join()} of ${wanted.join()}`;
}

function wrongWith(world: World, name: string): string | undefined {
  const app = world.app(name);
  if (app === undefined) return leftBehind(world, name);
  const { status, metadata, operation } = app;
  if (metadata.deletionTimestamp !== undefined) return 'its deletion has not ended';
  if (operation !== undefined) return 'an operation has not ended';
  const state = status?.operationState;
  if (state !== undefined && !isCompleted(state.phase)) return `its operation is ${state.phase}`;
  if (metadata.annotations?.['argocd.argoproj.io/refresh'] !== undefined) return 'a refresh was not answered';
  if (status?.health?.status === 'Progressing') return 'its claims are not bound yet';
  const differences = differencesOf(world, name);
  const isSynced = status?.sync?.status === 'Synced';
  if (isSynced !== (differences.length === 0))
    return `its status is ${status?.sync?.status ?? 'missing'}, and differing: ${differences.join(', ')}`;
  if (status?.sync?.revision !== world.target(name)?.sha) return `it was compared with ${status?.sync?.revision ?? ''}`;
  const hasKept = differences.some((difference) => difference.startsWith('kept'));
  const expected = ['OrphanedResourceWarning', 'SyncError', ...(hasKept ? ['KeptResourceWarning'] : [])];
  const condition = (status?.conditions ?? []).find(({ type }) => !expected.includes(type));
  if (condition !== undefined) return `it has the condition ${condition.type}: ${condition.message}`;
  const unpublished = wronglyPublished(world, name);
  if (unpublished !== undefined) return unpublished;
  const manner = world.manners.get(name)?.at(-1)?.value;
  if (manner === 'manual' || hasFailed(world, app)) return undefined;
  const left = manner === 'automated' ? ['kept'] : ['kept', 'extra'];
  const open = differences.filter((difference) => !left.some((word) => difference.startsWith(word)));
  return open.length === 0 ? undefined : `differing: ${open.join(', ')}`;
}

/** Values in Redis that differ from Git and from the cluster. */
function wronglyPublished(world: World, name: string): string | undefined {
  const [tree, managed] = [treeKeyOf(name), managedKeyOf(name)].map((key) => world.redis.read(key));
  if (tree === undefined || managed === undefined) return 'its tree or its managed resources are not published';
  const { nodes = [] } = JSON.parse(tree) as { nodes?: readonly { kind: string; name: string; uid?: string }[] };
  const live = world.objectsOf(name).filter((object) => trackedBy(object) === name);
  const missing = live.find(({ metadata }) => !nodes.some(({ uid }) => uid === metadata.uid));
  if (missing !== undefined) return `${nameOf(missing)} is not in its published tree`;
  const gone = nodes.find(({ uid }) => uid !== undefined && !live.some(({ metadata }) => metadata.uid === uid));
  if (gone !== undefined) return `${gone.kind} ${gone.name} is in its published tree, and does not exist`;
  const items = JSON.parse(managed) as readonly { kind: string; name: string; liveState?: string }[] | null;
  for (const object of live) {
    if (isHook(object) || object.kind === 'Secret') continue;
    const item = items?.find((one) => `${one.kind} ${one.name}` === nameOf(object));
    const shown = JSON.parse(item?.liveState ?? 'null') as KubeObject | null;
    if (shown === null || valuesOf(shown) !== valuesOf(object)) return `${nameOf(object)} is not published as it is`;
  }
  return undefined;
}

/**
 * An automated sync is not repeated after a sync of this revision ended in vain: one that must not
 * be retried, or that a person terminated.
 */
function hasFailed(world: World, { metadata, status }: Application): boolean {
  const { phase, syncResult, operation, startedAt = '' } = status?.operationState ?? {};
  const isTerminated = world.terminated.has(`${metadata.name ?? ''} ${startedAt}`);
  const isFinal = (operation?.retry?.limit ?? 0) === 0 || isTerminated;
  const has = (phase === 'Failed' || phase === 'Error') && isFinal;
  return has && (syncResult?.revision === undefined || syncResult.revision === status?.sync?.revision);
}

/** Objects that differ from Git, as Argo CD counts them. */
function differencesOf(world: World, name: string): readonly string[] {
  const wanted = world.target(name)?.objects ?? new Map<string, KubeObject>();
  const found: string[] = [];
  for (const object of wanted.values()) {
    if (isHook(object)) continue;
    const live = world.live(name, object);
    if (live === undefined) found.push(`missing ${nameOf(object)}`);
    else if (valuesOf(live) !== valuesOf(object) || !hasOptionsOf(object, live))
      found.push(`changed ${nameOf(object)}`);
  }
  for (const live of world.objectsOf(name)) {
    if (isHook(live) || wanted.has(nameOf(live)) || trackedBy(live) !== name) continue;
    found.push(hasSyncOption(live, 'Prune=false') ? `kept ${nameOf(live)}` : `extra ${nameOf(live)}`);
  }
  return found;
}

/** An annotation that Git does not have is no difference. */
function hasOptionsOf(wanted: KubeObject, live: KubeObject): boolean {
  const [want, has] = [wanted, live].map(({ metadata }) => metadata.annotations?.['argocd.argoproj.io/sync-options']);
  return want === undefined || want === has;
}

/** Objects of a deleted Application that its cascade should have deleted. */
function leftBehind(world: World, name: string): string | undefined {
  const plan = world.plan.apps[Number(name.slice(1))];
  if (plan?.cascades !== true || world.rules.mayHaveReturned(name)) return undefined;
  const left = world.objectsOf(name).filter((o) => trackedBy(o) === name && !hasSyncOption(o, 'Delete=false'));
  return left.length === 0 ? undefined : `its deletion left ${left.map(nameOf).join(', ')}`;
}

/** Each Application has one series in all replicas together, with its status. */
function wronglyMeasured(world: World, text: string): string | undefined {
  for (const name of world.appNames) {
    const lines = text
      .split('\n')
      .filter((line) => line.startsWith('argocd_app_info{') && line.includes(`name="${name}"`));
    const app = world.app(name);
    if (lines.length !== (app === undefined ? 0 : 1)) return `${name} has ${lines.length} series of argocd_app_info`;
    const { sync, health } = app?.status ?? {};
    const [line = ''] = lines;
    const isRight =
      line.includes(`sync_status="${sync?.status ?? ''}"`) && line.includes(`health_status="${health?.status ?? ''}"`);
    if (app !== undefined && !isRight) return `the metrics of ${name} differ from its status: ${line}`;
  }
  return undefined;
}

/** Stops all processes, and checks that nothing is left of them. */
export async function checkEnd(world: World): Promise<void> {
  // The answer to the last write of a status may still be on its way to its replica.
  await world.playTo(world.elapsedMs + answerMs);
  const scrapes = await Promise.all(world.alive().map(({ metrics }) => metrics.expose()));
  if (scrapes.some(hasCanary)) world.break('metrics contain a secret value');
  const wrong = wronglyMeasured(world, scrapes.join('\n'));
  if (wrong !== undefined) world.break(wrong);
  for (const { name, ownership } of world.alive())
    for (const { type, message } of ownership.conditions())
      if (type === 'ForeignController') world.break(`${name} takes a replica for another controller: ${message}`);
  world.desired = 0;
  const ending = world.alive();
  for (const replica of ending) replica.stop();
  await world.playTo(world.elapsedMs + graceMs + 5000);
  for (const replica of ending) if (replica.state !== 'ended') world.break(`${replica.name} has not ended`);
  // Also of those that ended while faults were injected.
  for (const replica of world.replicas) {
    if (replica.state !== 'ended') continue;
    if (replica.failure !== undefined) world.break(`${replica.name} failed: ${messageOf(replica.failure)}`);
    else if (replica.leftTimers > 0) world.break(`${replica.name} left ${replica.leftTimers} timers`);
    else if (world.redis.openOf(replica) > 0) world.break(`${replica.name} left its connection to Redis`);
    else if (world.network.transportsOf(replica) > 0)
      world.break(`${replica.name} left ${world.network.transportsOf(replica)} clients that are not closed`);
    else if (world.network.openOf(replica) > 0)
      world.break(`${replica.name} left ${world.network.openOf(replica)} requests or watches`);
  }
}
