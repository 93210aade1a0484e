import { defined } from '#base';
import type { KubeObject } from '#model';
import { configMap, firstObjects, isHook, namespace, resourceOf, withOwned, withValue } from './content.ts';
import { nameOf } from './servers/git.ts';
import type { Act } from './plan.ts';
import type { World } from './world.ts';

const forEver = Number.POSITIVE_INFINITY;
const cascade = 'resources-finalizer.argocd.argoproj.io';

/** Creates the Applications and their first commits. */
export function createApps(world: World): void {
  world.plan.apps.forEach((plan, i) => {
    const name = `a${i}`;
    world.git.commit(name, firstObjects(name, world.plan.owned === true));
    world.hub.store.put('applications', {
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Application',
      metadata: { name, namespace: 'argocd', ...(plan.cascades ? { finalizers: [cascade] } : {}) },
      spec: {
        project: 'default',
        source: { repoURL: `https://git.world/${name}`, path: '.', targetRevision: 'main' },
        destination: { server: world.clusterOf(name).url, namespace },
      },
    });
    world.setManner(name, plan.manner);
    world.setTarget(name);
  });
}

/** Carries out one act of the schedule. */
export function perform(world: World, act: Act): void {
  world.note(JSON.stringify(act));
  switch (act.do) {
    case 'request': {
      const { to, verbs, by, resource, fault, times } = act;
      world.network.armed.push({ to: urlOf(world, to), verbs, by, resource, fault, left: times, until: forEver });
      return;
    }
    case 'outage': {
      const { to, verbs, by, resource, fault, ms } = act;
      world.counts.add('outage');
      const until = world.time.now + ms;
      world.network.armed.push({ to: urlOf(world, to), verbs, by, resource, fault, left: forEver, until });
      return;
    }
    case 'watch':
      world.network.disturb(urlOf(world, act.to), act.fault, act.by);
      return;
    case 'cut': {
      const urls = act.from === 'clusters' ? world.clusters.map(({ url }) => url) : [urlOf(world, act.from)];
      const replica = world.replica(act.by);
      if (replica !== undefined) for (const url of urls) world.network.cut(replica.name, url, act.ms);
      return;
    }
    case 'restart':
      world.restart(act.by, act.how, act.downMs);
      return;
    case 'freeze':
      freeze(world, act);
      return;
    case 'jump':
      world.counts.add('clock jump');
      world.replica(act.by)?.clock.machine.jump(act.ms);
      return;
    case 'restore':
      restore(world, act);
      return;
    case 'git':
      world.git.disturb(act.fault, act.ms);
      return;
    case 'secret':
      world.counts.add(`cluster Secret: ${act.change}`);
      world.changeSecret(act.cluster, act.change, act.ms);
      return;
    case 'settings':
      world.counts.add(`argocd-cm: ${act.change}`);
      world.changeSettings(act.change, act.ms);
      return;
    case 'unread': {
      const { cluster, resource, verbs, code, namespace: where, ms } = act;
      world.counts.add(verbs === 'watch' ? 'kind unwatchable' : 'kind forbidden');
      const fault = { is: 'status', code } as const;
      const until = world.time.now + ms;
      const to = urlOf(world, cluster);
      world.network.armed.push({ to, verbs, resource, namespace: where, fault, left: forEver, until });
      world.network.disturb(to, 'closed', undefined);
      return;
    }
    case 'split':
      world.counts.add('cluster split');
      world.split(act.cluster, act.parts);
      return;
    case 'redis':
      world.redis.disturb(act.fault, act.ms);
      return;
    case 'scale':
      world.counts.add('rescaled');
      world.scale(act.replicas);
      return;
    case 'push':
    case 'edit':
    case 'abandon':
    case 'foreign':
    case 'sync':
    case 'terminate':
    case 'refresh':
    case 'pin':
    case 'manner':
    case 'delete':
    case 'own':
    default:
      world.counts.add(`people: ${act.do}`);
      meddle(world, act);
  }
}

function urlOf(world: World, to: number | 'hub'): string {
  return to === 'hub' ? world.hub.url : (world.clusters[to] ?? world.hub).url;
}

function freeze(world: World, { by, how, ms }: Extract<Act, { do: 'freeze' }>): void {
  const machine = world.replica(by)?.clock.machine;
  if (machine === undefined) return;
  world.counts.add(how === 'stop' ? 'frozen' : 'suspended');
  if (how === 'stop') machine.stop(ms);
  else machine.suspend(ms);
}

function restore(world: World, { cluster, agoMs }: Extract<Act, { do: 'restore' }>): void {
  const server = world.clusters[cluster];
  if (server === undefined) return;
  world.counts.add('etcd restored');
  world.network.takeDown(server.url, 1500);
  server.store.restore(world.time.now - agoMs);
  world.bindVolumes(server);
  world.rules.restored(server);
}

type PersonAct = Extract<
  Act,
  {
    do:
      'own' | 'push' | 'edit' | 'abandon' | 'foreign' | 'sync' | 'terminate' | 'refresh' | 'pin' | 'manner' | 'delete';
  }
>;

function meddle(world: World, act: PersonAct): void {
  if (act.do === 'foreign') {
    const object = configMap(`foreign-${world.elapsedMs}`, 'v1');
    world.clusters[act.cluster]?.store.put('configmaps', placed(object));
    return;
  }
  const name = `a${act.app}`;
  if (world.app(name) === undefined) return;
  if (act.do === 'own') own(world, name);
  else if (act.do === 'push') push(world, name, act);
  else if (act.do === 'edit') edit(world, name, act);
  else if (act.do === 'abandon') abandon(world, name, act.item);
  else if (act.do === 'sync') askForSync(world, name, act.prune);
  else if (act.do === 'terminate') terminate(world, name);
  else if (act.do === 'manner') world.setManner(name, act.manner);
  else if (act.do === 'delete') deleteApp(world, name);
  else if (act.do === 'pin') pin(world, name, act.back);
  else
    world.editApp(name, ({ metadata }) => {
      const annotations = { ...metadata.annotations, 'argocd.argoproj.io/refresh': act.hard ? 'hard' : 'normal' };
      return { metadata: { ...metadata, annotations } };
    });
}

function push(world: World, app: string, { change, item }: Extract<Act, { do: 'push' }>): void {
  const objects = new Map(world.git.head(app).objects);
  const value = `v${world.elapsedMs}`;
  const chosen = [...objects.values()][item % Math.max(1, objects.size)];
  if (change === 'add') {
    const added = configMap(`${app}-n${item}`, value);
    objects.set(nameOf(added), added);
  } else if (change === 'remove' && chosen !== undefined && objects.size > 1) objects.delete(nameOf(chosen));
  else if (change === 'set' && chosen !== undefined) objects.set(nameOf(chosen), withValue(chosen, value));
  const branch = world.git.branch(app);
  const reverted = change === 'revert' ? branch[Math.max(0, branch.length - 2)] : undefined;
  world.git.commit(app, (reverted?.objects ?? objects).values());
  world.setTarget(app);
}

/** Changes a live object of the Application. */
function edit(world: World, app: string, { change, item }: Extract<Act, { do: 'edit' }>): void {
  const objects = world.objectsOf(app);
  const object = objects[item % Math.max(1, objects.length)];
  if (object === undefined) return;
  const { store } = world.clusterOf(app);
  const resource = resourceOf[object.kind] ?? '';
  if (change === 'delete') {
    if (object.kind !== 'PersistentVolumeClaim') store.delete(resource, object);
  } else if (change === 'keep') keep(world, app, object);
  else store.put(resource, withValue(object, `drift-${world.elapsedMs}`));
}

function own(world: World, app: string): void {
  const live = world.live(app, configMap(`${app}-i0`, ''));
  if (live !== undefined) world.clusterOf(app).store.put('configmaps', withOwned(live, `operator-${world.elapsedMs}`));
}

/** Forbids the pruning of an object right before Git loses it. */
function abandon(world: World, app: string, item: number): void {
  const objects = new Map(world.git.head(app).objects);
  const chosen = [...objects.values()][item % Math.max(1, objects.size)];
  if (chosen === undefined || isHook(chosen) || objects.size < 2) return;
  const live = world.live(app, chosen);
  if (live !== undefined) keep(world, app, live);
  objects.delete(nameOf(chosen));
  world.git.commit(app, objects.values());
  world.setTarget(app);
  world.editApp(app, ({ metadata }) => {
    const annotations = { ...metadata.annotations, 'argocd.argoproj.io/refresh': 'normal' };
    return { metadata: { ...metadata, annotations } };
  });
}

function keep(world: World, app: string, live: KubeObject): void {
  const annotations = { ...live.metadata.annotations, 'argocd.argoproj.io/sync-options': 'Prune=false' };
  const changed = { ...live, metadata: { ...live.metadata, annotations } };
  world.clusterOf(app).store.put(resourceOf[live.kind] ?? '', changed);
}

export function askForSync(world: World, app: string, prune: boolean): void {
  const { operation, status, spec, metadata } = world.app(app) ?? {};
  const phase = status?.operationState?.phase ?? '';
  if (operation !== undefined || phase === 'Running' || phase === 'Terminating') return;
  if (metadata?.deletionTimestamp !== undefined) return;
  const username = `person-${world.elapsedMs}`;
  world.asked.set(username, app);
  const retry = {
    limit: world.asked.size % 2 === 0 ? 0 : -1,
    backoff: { duration: '1s', factor: 2, maxDuration: '8s' },
  };
  // Argo CD's API server copies the options of the spec into the operations of people.
  const { syncOptions } = spec?.syncPolicy ?? {};
  const sync = { revision: spec?.source?.targetRevision ?? 'main', prune, ...defined({ syncOptions }) };
  world.editApp(app, () => ({ operation: { sync, initiatedBy: { username }, retry } }));
}

/** As the API server of Argo CD does. */
function terminate(world: World, app: string): void {
  world.editApp(app, ({ operation, status }) => {
    const { operationState } = status ?? {};
    if (operation === undefined || operationState?.phase !== 'Running') return {};
    world.terminated.add(`${app} ${operationState.startedAt}`);
    return { status: { ...status, operationState: { ...operationState, phase: 'Terminating' } } };
  });
}

/** Pins to an earlier commit, or back to the branch. */
function pin(world: World, app: string, back: number): void {
  const branch = world.git.branch(app);
  const targetRevision = back === 0 ? 'main' : (branch[Math.max(0, branch.length - back)]?.sha ?? 'main');
  world.editApp(app, ({ spec }) => ({ spec: { ...spec, source: { ...spec.source, targetRevision } } }));
  world.setTarget(app);
}

function deleteApp(world: World, app: string): void {
  const object = world.hub.store.get('applications', 'argocd', app);
  if (object !== undefined) world.hub.store.delete('applications', object);
}

function placed(object: KubeObject): KubeObject {
  return { ...object, metadata: { ...object.metadata, namespace } };
}
