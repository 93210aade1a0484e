import { describe, expect, it } from '@jest/globals';
import { DriftlessError, messageOf } from '#base';
import { FakeClock } from '#support';
import { gvkOf, keyOf } from '#model';
import { findResource } from '#kube';
import type { ApiDiscovery } from '#kube';
import type { ApiResource, HealthStatus, KubeObject } from '#model';
import { pairResources, readSyncOptions, syncStep, terminateSync } from './index.ts';
import type { ApplyHow, ClusterWriter, SyncOptions, SyncOutcome, SyncRequest } from './index.ts';

const namespaced = new Set(['ConfigMap', 'Deployment', 'Job', 'Secret', 'Service', 'Widget']);

function object(
  kind: string,
  name: string,
  annotations: Record<string, string> = {},
  apiVersion = versions[kind] ?? 'v1',
): KubeObject {
  const meta = Object.keys(annotations).length > 0 ? { name, annotations } : { name };
  return { apiVersion, kind, metadata: meta };
}

const versions: Readonly<Record<string, string>> = {
  Deployment: 'apps/v1',
  Job: 'batch/v1',
  CustomResourceDefinition: 'apiextensions.k8s.io/v1',
  Widget: 'example.com/v1',
};
const wave = (n: number): Record<string, string> => ({ 'argocd.argoproj.io/sync-wave': String(n) });
const hook = (type: string, policy?: string): Record<string, string> => ({
  'argocd.argoproj.io/hook': type,
  ...(policy === undefined ? {} : { 'argocd.argoproj.io/hook-delete-policy': policy }),
});

class Changed extends DriftlessError {
  readonly status = 409;
  constructor() {
    super('KUBE_CONFLICT', 'the object has been modified');
  }
}

class NotThere extends DriftlessError {
  readonly status = 404;
  constructor() {
    super('KUBE_NOT_FOUND', 'not found');
  }
}

/** A cluster in memory that remembers what was asked of it, in order. */
class World {
  readonly clock = new FakeClock();
  readonly live = new Map<string, KubeObject>();
  readonly log: string[] = [];
  readonly refuse = new Map<string, string>();
  readonly health = new Map<string, HealthStatus | null>();
  readonly unknown = new Set<string>();
  /** Finalizers that were left on an object. */
  readonly patches: string[] = [];
  readonly warnings: string[] = [];
  startedAt = 1_700_000_000_000;
  /** Thrown by the next writes of metadata, one each; also run before them. */
  readonly meddle: (() => Error | undefined)[] = [];
  /** Names of what somebody marks otherwise before it can be deleted. */
  readonly marked = new Set<string>();
  results: SyncOutcome['results'] = [];

  put(object: KubeObject): KubeObject {
    const stored = {
      ...object,
      metadata: { ...object.metadata, namespace: namespaceOf(object), uid: object.metadata.name ?? '' },
    };
    this.live.set(keyOf(stored), stored);
    return stored;
  }

  /** What the cluster serves now. */
  discovery(): ApiDiscovery {
    const kinds = [...namespaced, 'Namespace', 'CustomResourceDefinition'].filter((kind) => !this.unknown.has(kind));
    const served = kinds.map((kind): ApiResource => {
      const { group, version } = gvkOf(object(kind, ''));
      const resource = `${kind.toLowerCase()}s`;
      const verbs = ['get', 'list'];
      const scope = { namespaced: namespaced.has(kind) };
      return { group, version, kind, resource, verbs, subresources: [], shortNames: [], ...scope };
    });
    return { preferred: served, served, apiVersions: [], failedGroups: new Map() };
  }

  get writer(): ClusterWriter {
    return {
      discovery: this.discovery(),
      get: async (wanted) =>
        this.live.get(keyOf({ ...wanted, metadata: { ...wanted.metadata, namespace: namespaceOf(wanted) } })) ?? null,
      apply: async (target: KubeObject, _live: KubeObject | null, how: ApplyHow) => {
        const name = `${target.kind}/${target.metadata.name ?? ''}`;
        const why = this.refuse.get(name);
        this.log.push(`${how.dryRun ? 'dry ' : ''}${how.serverSide ? 'ssa' : 'apply'} ${name}`);
        if (why !== undefined) throw new DriftlessError('KUBE_INVALID', why);
        return { object: how.dryRun ? target : this.put(target), message: `${name} applied` };
      },
      create: async (target) => ({ object: this.put(target), message: 'created' }),
      delete: async (live) => {
        this.log.push(`delete ${live.kind}/${live.metadata.name ?? ''}`);
        if (this.marked.has(live.metadata.name ?? '')) return 'changed';
        if (!this.live.delete(keyOf(live))) throw new NotThere();
        return 'accepted';
      },
      patchMetadata: async (live, patch) => {
        const error = this.meddle.shift()?.();
        if (error !== undefined) throw error;
        const current = this.live.get(keyOf(live));
        if (current === undefined) throw new NotThere();
        this.patches.push(`${live.kind}/${live.metadata.name ?? ''} ${(patch.finalizers ?? []).join()}`);
        const next = { ...current, metadata: { ...current.metadata, finalizers: patch.finalizers ?? [] } };
        this.live.set(keyOf(next), next);
        return next;
      },
      denied: (wanted) =>
        wanted.kind === 'Secret' ? 'resource :Secret is not permitted in project default' : undefined,
    };
  }

  request(targets: readonly KubeObject[], options: Partial<SyncOptions> = {}): SyncRequest {
    // What the sync made without tracking (the destination namespace) is not a live object of the application.
    const tracked = new Map(
      [...this.live].filter(([, o]) => o.kind !== 'Namespace' || targets.some((t) => t.kind === 'Namespace')),
    );
    const paired = pairResources(
      targets,
      tracked as unknown as Parameters<typeof pairResources>[1],
      'prod',
      (gk) => findResource(this.discovery(), gk)?.namespaced,
    );
    return {
      resources: paired.pairs.map((pair) => ({ ...pair, modified: true })),
      hooks: paired.hooks,
      liveHooks: paired.liveHooks,
      options: { ...readSyncOptions({ prune: true }, { pruneConfirmed: false, waveDelayMs: 0 }), ...options },
      destinationNamespace: 'prod',
      revision: '0123456789abcdef',
      startedAt: this.startedAt,
      attempt: '2023-11-14T22:13:20Z/0',
      results: this.results,
      selected: () => true,
      health: (live) => this.health.get(`${live.kind}/${live.metadata.name ?? ''}`) ?? null,
      mayPrune: (gk) => gk.kind !== 'Service',
      claimant: () => undefined,
      namespaceModifier: (live) => (live === null ? object('Namespace', 'prod') : null),
      writer: this.writer,
      warn: (message, error) => this.warnings.push(`${message}: ${messageOf(error)}`),
      clock: this.clock,
      signal: new AbortController().signal,
    };
  }

  async step(targets: readonly KubeObject[], options: Partial<SyncOptions> = {}): Promise<SyncOutcome> {
    const running = syncStep(this.request(targets, options));
    void this.clock.advance(10_000);
    const outcome = await running;
    this.results = outcome.results;
    return outcome;
  }
}

function namespaceOf(object: KubeObject): string {
  return namespaced.has(object.kind) ? (object.metadata.namespace ?? 'prod') : '';
}

describe('a sync in one step', () => {
  it('applies in kind order and succeeds without waiting for health', async () => {
    const world = new World();
    world.health.set('Deployment/web', { status: 'Progressing' });
    const outcome = await world.step([
      object('Deployment', 'web'),
      object('Service', 'web'),
      object('ConfigMap', 'c'),
      object('Namespace', 'prod'),
    ]);
    expect(world.log).toEqual([
      'apply Namespace/prod',
      'apply ConfigMap/c',
      'apply Service/web',
      'apply Deployment/web',
    ]);
    expect(outcome).toMatchObject({ phase: 'Succeeded', message: 'successfully synced (all tasks run)' });
    expect(outcome.results.map((r) => [r.kind, r.namespace, r.status, r.hookPhase, r.syncPhase])).toEqual([
      ['Namespace', 'prod', 'Synced', 'Running', 'Sync'],
      ['ConfigMap', 'prod', 'Synced', 'Running', 'Sync'],
      ['Service', 'prod', 'Synced', 'Running', 'Sync'],
      ['Deployment', 'prod', 'Synced', 'Running', 'Sync'],
    ]);
  });

  it('applies everything it can and fails with the reasons when the server refuses one', async () => {
    const world = new World();
    world.refuse.set('ConfigMap/bad', 'ConfigMap "bad" is invalid');
    const first = await world.step([object('ConfigMap', 'bad'), object('Deployment', 'web')]);
    expect(first).toMatchObject({ phase: 'Running', message: 'waiting for healthy state of apps/Deployment/web' });
    const second = await world.step([object('ConfigMap', 'bad'), object('Deployment', 'web')]);
    expect(second).toMatchObject({
      phase: 'Failed',
      message: 'one or more synchronization tasks completed unsuccessfully, reason: ConfigMap "bad" is invalid',
    });
    expect(world.log).toEqual(['apply ConfigMap/bad', 'apply Deployment/web']);
  });

  it('touches nothing when a kind is unknown or the project forbids one', async () => {
    const world = new World();
    world.unknown.add('Widget');
    const outcome = await world.step([object('ConfigMap', 'c'), object('Widget', 'w'), object('Secret', 's')]);
    expect(outcome).toMatchObject({
      phase: 'Failed',
      message:
        'one or more synchronization tasks are not valid: resource :Secret is not permitted in project default; the server could not find the requested resource',
    });
    expect(world.log).toEqual([]);
    expect(outcome.results.map((r) => [r.kind, r.status])).toEqual([
      ['Secret', 'SyncFailed'],
      ['Widget', 'SyncFailed'],
    ]);
  });

  it('accepts a kind whose definition comes with the same sync', async () => {
    const world = new World();
    world.unknown.add('Widget');
    const crd: KubeObject = {
      ...object('CustomResourceDefinition', 'widgets.example.com'),
      spec: { group: 'example.com', names: { kind: 'Widget' } },
    };
    await world.step([object('Widget', 'w'), crd]);
    expect(world.log).toEqual(['apply CustomResourceDefinition/widgets.example.com', 'apply Widget/w']);
  });

  it('asks the server without changing anything when the operation is a dry run', async () => {
    const world = new World();
    const outcome = await world.step([object('ConfigMap', 'c')], { dryRun: true });
    expect(outcome).toMatchObject({ phase: 'Succeeded', message: 'successfully synced (no more tasks)' });
    expect(world.log).toEqual(['dry apply ConfigMap/c']);
    expect(world.live.size).toBe(0);
  });
});

describe('waves', () => {
  const targets = [
    object('Deployment', 'second', wave(1)),
    object('Deployment', 'first', wave(-1)),
    object('ConfigMap', 'last', wave(2)),
  ];

  it.each(['Healthy', 'Degraded'] as const)(
    'T-WAIT-1: do not take a resource for %s by a status that is older than its spec',
    async (status) => {
      const world = new World();
      world.startedAt = world.clock.now();
      world.health.set('Deployment/first', { status });
      await world.step(targets);
      const seen = (generation: number, observedGeneration: number): void => {
        const first = object('Deployment', 'first', wave(-1));
        world.put({ ...first, metadata: { ...first.metadata, generation }, status: { observedGeneration } });
      };
      // What was before was seen, and judged; what was just applied was not.
      seen(2, 1);
      for (let turn = 0; turn < 3; turn += 1)
        expect(await world.step(targets)).toMatchObject({
          phase: 'Running',
          message: 'waiting for healthy state of apps/Deployment/first',
        });
      expect(world.log).toEqual(['apply Deployment/first']);
      seen(2, 2);
      await world.step(targets);
      expect(world.log).toEqual(
        status === 'Healthy' ? ['apply Deployment/first', 'apply Deployment/second'] : ['apply Deployment/first'],
      );
    },
  );

  it('T-WAIT-1: believe the check all the same when a controller never says what it has seen', async () => {
    const world = new World();
    world.startedAt = world.clock.now();
    world.health.set('Deployment/first', { status: 'Healthy' });
    await world.step(targets);
    const first = object('Deployment', 'first', wave(-1));
    world.put({ ...first, metadata: { ...first.metadata, generation: 7 }, status: { observedGeneration: 1 } });
    await world.step(targets);
    expect(world.log).toEqual(['apply Deployment/first']);
    await world.clock.advance(180_000);
    await world.step(targets);
    expect(world.log).toEqual(['apply Deployment/first', 'apply Deployment/second']);
  });

  it('starts the next wave only when the one before is healthy', async () => {
    const world = new World();
    world.health.set('Deployment/first', { status: 'Progressing' });
    expect(await world.step(targets)).toMatchObject({
      phase: 'Running',
      message: 'waiting for healthy state of apps/Deployment/first',
    });
    expect(await world.step(targets)).toMatchObject({ phase: 'Running' });
    expect(world.log).toEqual(['apply Deployment/first']);
    world.health.set('Deployment/first', { status: 'Healthy' });
    world.health.set('Deployment/second', { status: 'Healthy' });
    await world.step(targets);
    expect(world.log).toEqual(['apply Deployment/first', 'apply Deployment/second']);
    expect(await world.step(targets)).toMatchObject({ phase: 'Succeeded' });
    expect(world.log).toHaveLength(3);
  });

  it('fails when a wave degrades, and never starts the next', async () => {
    const world = new World();
    world.health.set('Deployment/first', { status: 'Progressing' });
    await world.step(targets);
    world.health.set('Deployment/first', { status: 'Degraded', message: 'crash loop' });
    expect(await world.step(targets)).toMatchObject({
      phase: 'Failed',
      message: 'one or more synchronization tasks completed unsuccessfully',
    });
    expect(world.log).toEqual(['apply Deployment/first']);
  });

  it('repeats nothing when another replica goes on from the recorded results', async () => {
    const world = new World();
    world.health.set('Deployment/first', { status: 'Healthy' });
    world.health.set('Deployment/second', { status: 'Healthy' });
    for (let i = 0; i < 6; i += 1) {
      const before = world.log.length;
      const outcome = await world.step(targets);
      expect(world.log.length - before).toBeLessThanOrEqual(1);
      if (outcome.phase === 'Succeeded') break;
    }
    expect(world.log).toEqual(['apply Deployment/first', 'apply Deployment/second', 'apply ConfigMap/last']);
  });

  it('puts a namespace before what lives in it, whatever the waves say', async () => {
    const world = new World();
    world.health.set('Namespace/prod', null);
    await world.step([object('Namespace', 'prod', wave(5)), object('ConfigMap', 'c', wave(1))]);
    expect(world.log).toEqual(['apply Namespace/prod', 'apply ConfigMap/c']);
  });
});

describe('pruning', () => {
  it('deletes what no target wants, later waves first', async () => {
    const world = new World();
    world.put(object('ConfigMap', 'early', wave(0)));
    world.put(object('ConfigMap', 'late', wave(3)));
    const first = await world.step([]);
    expect(world.log).toEqual(['delete ConfigMap/late']);
    expect(first.phase).toBe('Running');
    await world.step([]);
    expect(world.log).toEqual(['delete ConfigMap/late', 'delete ConfigMap/early']);
  });

  it('8.1.1: never deletes a CRD, also not one that carries tracking, and prunes around it as ever', async () => {
    const world = new World();
    const tracking = { 'argocd.argoproj.io/tracking-id': 'demo:apiextensions.k8s.io/CustomResourceDefinition:prod/x' };
    const crd = world.put(object('CustomResourceDefinition', 'widgets.example.com', tracking));
    world.put(object('ConfigMap', 'old'));
    await world.step([]);
    const request = world.request([]);
    const forced = { ...request, results: [], resources: [{ target: null, live: crd, modified: true }] };
    expect(await syncStep(forced)).toMatchObject({ phase: 'Succeeded', results: [] });
    expect(world.log).toEqual(['delete ConfigMap/old']);
  });

  it.each([
    ['the operation does not prune', {}, { prune: false }, 'ignored (requires pruning)'],
    ['the resource says no', { 'argocd.argoproj.io/sync-options': 'Prune=false' }, {}, 'ignored (no prune)'],
    ['the application says no', {}, { defaultPrune: 'false' }, 'ignored (no prune)'],
  ])('skips when %s', async (_name, annotations, options, message) => {
    const world = new World();
    world.put(object('ConfigMap', 'old', annotations));
    const outcome = await world.step([], options);
    expect(outcome.results).toMatchObject([{ status: 'PruneSkipped', message }]);
    expect(world.log).toEqual([]);
  });

  it('14.4: skips what somebody has marked otherwise since it was compared, and goes on with the rest', async () => {
    const world = new World();
    world.put(object('ConfigMap', 'moved'));
    world.put(object('ConfigMap', 'old'));
    world.marked.add('moved');
    const { phase, results } = await world.step([]);
    expect(phase).toBe('Succeeded');
    expect(Object.fromEntries(results.map(({ name, status, message }) => [name, [status, message]]))).toEqual({
      moved: ['PruneSkipped', 'ignored (it has been marked otherwise since it was compared)'],
      old: ['Pruned', 'pruned'],
    });
    expect([...world.live.values()].map(({ metadata }) => metadata.name)).toEqual(['moved']);
  });

  it('leaves kinds alone whose live cache is not fresh', async () => {
    const world = new World();
    world.put(object('Service', 'old'));
    const outcome = await world.step([]);
    expect(outcome.results).toMatchObject([{ kind: 'Service', status: 'PruneSkipped' }]);
    expect(world.log).toEqual([]);
  });

  it('waits for a person where the resource asks for confirmation', async () => {
    const world = new World();
    world.put(object('ConfigMap', 'precious', { 'argocd.argoproj.io/sync-options': 'Prune=confirm' }));
    expect(await world.step([])).toMatchObject({
      phase: 'Running',
      message: 'waiting for pruning confirmation of /ConfigMap/precious',
    });
    expect(world.log).toEqual([]);
    await world.step([], { pruneConfirmed: true });
    expect(world.log).toEqual(['delete ConfigMap/precious']);
  });
});

describe('hooks', () => {
  it('run in their phase, are waited for, and the old one is deleted first', async () => {
    const world = new World();
    world.put({
      ...object('Job', 'migrate', hook('PreSync')),
      metadata: { ...object('Job', 'migrate', hook('PreSync')).metadata },
    });
    const targets = [object('Job', 'migrate', hook('PreSync')), object('ConfigMap', 'c')];
    expect(await world.step(targets)).toMatchObject({
      phase: 'Running',
      message: 'waiting for deletion of hook batch/Job/migrate',
    });
    world.health.set('Job/migrate', { status: 'Progressing' });
    expect(await world.step(targets)).toMatchObject({
      phase: 'Running',
      message: 'waiting for completion of hook batch/Job/migrate',
    });
    expect(world.log).toEqual(['delete Job/migrate', 'apply Job/migrate']);
    world.health.set('Job/migrate', { status: 'Healthy' });
    expect(await world.step(targets)).toMatchObject({ phase: 'Running', results: [{ hookPhase: 'Succeeded' }] });
    expect(await world.step(targets)).toMatchObject({ phase: 'Succeeded' });
    expect(world.log).toEqual(['delete Job/migrate', 'apply Job/migrate', 'apply ConfigMap/c']);
  });

  it('run SyncFail when the sync fails, and the operation fails with the reason', async () => {
    const world = new World();
    world.refuse.set('ConfigMap/bad', 'no');
    world.health.set('Job/cleanup', { status: 'Progressing' });
    const targets = [object('Job', 'cleanup', hook('SyncFail')), object('ConfigMap', 'bad')];
    expect(await world.step(targets)).toMatchObject({
      phase: 'Running',
      message: 'waiting for completion of hook batch/Job/cleanup',
    });
    world.health.set('Job/cleanup', { status: 'Healthy' });
    await world.step(targets);
    const end = await world.step(targets);
    expect(end.phase).toBe('Failed');
    expect(end.message).toBe('one or more synchronization tasks completed unsuccessfully, reason: no');
  });

  it('are deleted after success when they say so, and keep no finalizer', async () => {
    const world = new World();
    world.health.set('Job/once', { status: 'Healthy' });
    const targets = [object('Job', 'once', hook('PreSync', 'HookSucceeded'))];
    for (let i = 0; i < 4; i += 1) if ((await world.step(targets)).phase === 'Succeeded') break;
    expect(world.log).toEqual(['apply Job/once', 'delete Job/once']);
  });

  it('that vanish while they run end the operation instead of holding it for ever (T-OP-2)', async () => {
    const world = new World();
    world.health.set('Job/gone', { status: 'Progressing' });
    const targets = [object('Job', 'gone', hook('PreSync')), object('ConfigMap', 'c')];
    await world.step(targets);
    world.live.clear();
    await world.step(targets);
    const end = await world.step(targets);
    expect(end.phase).toBe('Failed');
    expect(end.message).toContain('Resource batch/Job/gone is missing, it might have been deleted');
  });

  it('are stopped by terminate', async () => {
    const world = new World();
    world.health.set('Job/long', { status: 'Progressing' });
    const targets = [object('Job', 'long', hook('PreSync'))];
    await world.step(targets);
    const outcome = await terminateSync(world.request(targets));
    expect(outcome).toMatchObject({ phase: 'Failed', message: 'Operation terminated' });
    expect(outcome.results).toMatchObject([{ name: 'long', hookPhase: 'Failed', message: 'Terminated' }]);
    expect(world.live.size).toBe(0);
  });
});

describe('8.1.8: the finalizer of a finished hook', () => {
  const ours = 'argocd.argoproj.io/hook-finalizer';
  const targets = [object('Job', 'once', hook('PreSync'))];

  /** A hook that has run to its end, which is recorded; its finalizer is still on. */
  async function finished(): Promise<World> {
    const world = new World();
    world.health.set('Job/once', { status: 'Healthy' });
    await world.step(targets);
    await world.step(targets);
    world.log.length = 0;
    world.patches.length = 0;
    return world;
  }
  const stored = (world: World): KubeObject => [...world.live.values()][0]!;
  const edit = (world: World, metadata: object): void => {
    const now = stored(world);
    world.live.set(keyOf(now), { ...now, metadata: { ...now.metadata, ...metadata } });
  };

  it('8.1.8: goes after a fresh read, so that what others have put there meanwhile stays', async () => {
    const world = await finished();
    const request = world.request(targets);
    edit(world, { finalizers: [ours, 'example.com/keep'], resourceVersion: '9' });
    expect(await syncStep(request)).toMatchObject({ phase: 'Succeeded' });
    expect(world.patches).toEqual(['Job/once example.com/keep']);
  });

  it('8.1.8: is tried again when somebody was faster, and the fault is told when that never ends', async () => {
    const world = await finished();
    for (let i = 0; i < 4; i += 1) world.meddle.push(() => new Changed());
    expect(await world.step(targets)).toMatchObject({ phase: 'Succeeded' });
    expect(world.patches).toEqual(['Job/once ']);
    const other = await finished();
    for (let i = 0; i < 5; i += 1) other.meddle.push(() => new Changed());
    expect(await other.step(targets)).toMatchObject({
      phase: 'Failed',
      results: [{ hookPhase: 'Error', message: 'failed to remove hook finalizer: the object has been modified' }],
    });
  });

  it('8.1.8: of a hook that is gone, before or during the write, is no matter', async () => {
    for (const meddle of [undefined, (): Error => new NotThere()]) {
      const world = await finished();
      const request = world.request(targets);
      if (meddle === undefined) world.live.clear();
      else world.meddle.push(meddle);
      expect(await syncStep(request)).toMatchObject({ phase: 'Succeeded' });
      expect([...world.log, ...world.patches]).toEqual([]);
    }
  });

  it('8.1.8: of another object that has taken the name stays', async () => {
    const world = await finished();
    const request = world.request(targets);
    edit(world, { uid: 'other' });
    expect(await syncStep(request)).toMatchObject({ phase: 'Succeeded' });
    expect([...world.log, ...world.patches]).toEqual([]);
  });
});

describe('8.1.3: a dry run', () => {
  const crd: KubeObject = {
    ...object('CustomResourceDefinition', 'widgets.example.com', wave(1)),
    spec: { group: 'example.com', names: { kind: 'Widget' } },
  };
  const confirm = { 'argocd.argoproj.io/sync-options': 'Prune=confirm' };

  it('8.1.3: tries what comes with a CRD of the same sync in no wave, and ends', async () => {
    const world = new World();
    world.unknown.add('Widget');
    const outcome = await world.step([crd, object('Widget', 'w', wave(2)), object('ConfigMap', 'c')], { dryRun: true });
    expect(outcome).toMatchObject({ phase: 'Succeeded', message: 'successfully synced (no more tasks)' });
    expect(outcome.results.map(({ name, status, message }) => [name, status, message])).toContainEqual([
      'w',
      'Synced',
      'Widget/w not tried: its kind is not known yet (dry run)',
    ]);
    expect(world.log).toEqual(['dry apply ConfigMap/c', 'dry apply CustomResourceDefinition/widgets.example.com']);
  });

  it.each([
    ['says that it would need a confirmation, and waits for none', false, 'ignored (requires confirmation)'],
    ['tries what was confirmed', true, 'pruned (dry run)'],
  ])('8.1.3: %s', async (_name, pruneConfirmed, message) => {
    const world = new World();
    world.put(object('ConfigMap', 'precious', confirm));
    const targets = [object('ConfigMap', 'c', wave(-1)), object('ConfigMap', 'd', wave(1))];
    const end = await world.step(targets, { dryRun: true, pruneConfirmed });
    expect(end).toMatchObject({ phase: 'Succeeded' });
    expect(end.results).toContainEqual(expect.objectContaining({ name: 'precious', message }));
    expect(world.log).toEqual(['dry apply ConfigMap/c', 'dry apply ConfigMap/d']);
  });

  it('8.1.3: leaves hooks and their finalizers alone, also when it is terminated', async () => {
    const world = new World();
    const made = object('Job', 'old', hook('PreSync', 'HookSucceeded'));
    const finalizers = ['argocd.argoproj.io/hook-finalizer'];
    const attempt = { ...made.metadata.annotations, 'driftless.io/operation': '2023-11-14T22:13:20Z/0' };
    const live = world.put({ ...made, metadata: { ...made.metadata, annotations: attempt, finalizers } });
    world.health.set('Job/old', { status: 'Progressing' });
    await world.step([made], { dryRun: true });
    expect(await terminateSync(world.request([made], { dryRun: true }))).toMatchObject({ phase: 'Failed' });
    world.health.set('Job/old', { status: 'Healthy' });
    for (let i = 0; i < 3; i += 1) await world.step([made], { dryRun: true });
    expect(await terminateSync(world.request([made], { dryRun: true }))).toMatchObject({ phase: 'Failed' });
    expect(world.log.filter((call) => !call.startsWith('dry '))).toEqual([]);
    expect(world.patches).toEqual([]);
    expect([...world.live.values()]).toEqual([live]);
  });
});

describe('8.1.14: after a CRD was applied', () => {
  it('8.1.14: a read that fails is told, and the sync goes on', async () => {
    const world = new World();
    const crd = { ...object('CustomResourceDefinition', 'w.example.com'), spec: { group: 'example.com' } };
    const request = world.request([crd, object('ConfigMap', 'c')]);
    const get = (): Promise<never> => Promise.reject(new DriftlessError('KUBE_FORBIDDEN', 'may not read'));
    const outcome = await syncStep({ ...request, writer: { ...world.writer, get } });
    expect(outcome).toMatchObject({ phase: 'Succeeded' });
    expect(world.warnings).toEqual(['failed to ensure that CRD w.example.com is ready: may not read']);
  });

  it('15.2: one that was there and has not changed is not looked at again', async () => {
    const world = new World();
    const status = { conditions: [{ type: 'Established', status: 'True' }] };
    const crd = { ...object('CustomResourceDefinition', 'w.example.com'), spec: { group: 'example.com' } };
    const live = world.put({ ...crd, status });
    const request = world.request([crd]);
    const read: string[] = [];
    const writer: ClusterWriter = {
      ...world.writer,
      get: (wanted) => {
        read.push(wanted.kind);
        return Promise.resolve(live);
      },
      apply: (_target, known) => Promise.resolve({ object: known ?? live, message: 'unchanged' }),
    };
    expect(await syncStep({ ...request, writer })).toMatchObject({ phase: 'Succeeded' });
    expect(read).toEqual([]);
    const apply: ClusterWriter['apply'] = () => Promise.resolve({ object: { ...live }, message: 'configured' });
    expect(await syncStep({ ...request, writer: { ...writer, apply } })).toMatchObject({ phase: 'Succeeded' });
    expect(read).toEqual(['CustomResourceDefinition']);
  });

  it('8.1.14: one that is never established is told too', async () => {
    const world = new World();
    const crd = { ...object('CustomResourceDefinition', 'w.example.com'), spec: { group: 'example.com' } };
    expect(await world.step([crd])).toMatchObject({ phase: 'Succeeded' });
    expect(world.warnings).toEqual(['failed to ensure that CRD w.example.com is ready: it is not established yet']);
  });
});

describe('a replica that died', () => {
  it('after it made a hook and before it recorded it: the hook is waited for, not made again', async () => {
    const world = new World();
    world.health.set('Job/migrate', { status: 'Progressing' });
    const targets = [object('Job', 'migrate', hook('PreSync')), object('ConfigMap', 'c')];
    await world.step(targets);
    world.results = [];
    expect(await world.step(targets)).toMatchObject({
      phase: 'Running',
      message: 'waiting for completion of hook batch/Job/migrate',
    });
    expect(world.log).toEqual(['apply Job/migrate']);
  });

  it('after it deleted a finished hook and before it recorded the end: the operation still succeeds', async () => {
    const world = new World();
    world.health.set('Job/once', { status: 'Healthy' });
    const targets = [object('Job', 'once', hook('PreSync', 'HookSucceeded'))];
    await world.step(targets);
    const recorded = await world.step(targets);
    expect(recorded).toMatchObject({ phase: 'Running', results: [{ name: 'once', hookPhase: 'Succeeded' }] });
    await world.step(targets);
    expect(world.live.size).toBe(0);
    world.results = recorded.results;
    expect(await world.step(targets)).toMatchObject({ phase: 'Succeeded' });
  });
});

describe('CreateNamespace', () => {
  it('11.5: the result of the namespace that the sync makes is in no namespace', async () => {
    const world = new World();
    const outcome = await world.step([object('ConfigMap', 'c')], { createNamespace: true });
    const made = outcome.results.find(({ kind }) => kind === 'Namespace');
    expect(made).toMatchObject({ name: 'prod', namespace: '' });
    // Found again by that, in the next step.
    await world.step([object('ConfigMap', 'c')], { createNamespace: true });
    expect(world.log.filter((line) => line === 'apply Namespace/prod')).toHaveLength(1);
  });

  it('makes the namespace before anything else and leaves an existing one alone', async () => {
    const world = new World();
    await world.step([object('ConfigMap', 'c')], { createNamespace: true });
    expect(world.log[0]).toBe('apply Namespace/prod');
    for (let i = 0; i < 3; i += 1)
      if ((await world.step([object('ConfigMap', 'c')], { createNamespace: true })).phase === 'Succeeded') break;
    expect(world.log).toEqual(['apply Namespace/prod', 'apply ConfigMap/c']);
  });
});
