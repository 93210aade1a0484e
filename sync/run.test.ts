import { describe, expect, it } from '@jest/globals';
import { DriftlessError, messageOf } from '#base';
import { FakeClock } from '#support';
import { gvkOf, keyOf } from '#model';
import { findResource } from '#kube';
import type { ApiDiscovery } from '#kube';
import type { ApiResource, HealthStatus, KubeObject } from '#model';
import { pairResources, readSyncOptions, syncStep, terminateSync } from './index.ts';
import type { ApplyOptions, ClusterWriter, SyncOptions, SyncOutcome, SyncRequest } from './index.ts';

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

class ConflictError extends DriftlessError {
  readonly status = 409;
  constructor() {
    super('KUBE_CONFLICT', 'the object has been modified');
  }
}

class NotFoundError extends DriftlessError {
  readonly status = 404;
  constructor() {
    super('KUBE_NOT_FOUND', 'not found');
  }
}

/** A cluster in memory that records the calls in order. */
class SyncWorld {
  readonly appliedWaves = new Map<string, number>();

  appliedAt(wave: string): number {
    const at = this.appliedWaves.get(wave) ?? this.clock.monotonic();
    this.appliedWaves.set(wave, at);
    return at;
  }

  readonly clock = new FakeClock();
  readonly live = new Map<string, KubeObject>();
  readonly log: string[] = [];
  readonly refuse = new Map<string, string>();
  readonly health = new Map<string, HealthStatus | null>();
  readonly unknown = new Set<string>();
  /** Finalizers left on objects by patches. */
  readonly patches: string[] = [];
  readonly warnings: string[] = [];
  startedAt = 1_700_000_000_000;
  /** Run before the next metadata patches, one each; a returned error is thrown. */
  readonly beforePatch: (() => Error | undefined)[] = [];
  /** Names of objects whose markings change before they can be deleted. */
  readonly changedMarks = new Set<string>();
  results: SyncOutcome['results'] = [];
  isDryRun = false;
  /** Every health check fails. */
  healthFails = false;

  put(object: KubeObject): KubeObject {
    const stored = {
      ...object,
      metadata: { ...object.metadata, namespace: namespaceOf(object), uid: object.metadata.name ?? '' },
    };
    this.live.set(keyOf(stored), stored);
    return stored;
  }

  /** The kinds that the cluster serves now. */
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
      apply: async (target: KubeObject, _live: KubeObject | null, how: ApplyOptions) => {
        const name = `${target.kind}/${target.metadata.name ?? ''}`;
        const why = this.refuse.get(name);
        this.log.push(`${this.isDryRun ? 'dry ' : ''}${how.serverSide ? 'ssa' : 'apply'} ${name}`);
        if (why !== undefined) throw new DriftlessError('KUBE_INVALID', why);
        return { object: this.isDryRun ? target : this.put(target), message: `${name} applied` };
      },
      create: async (target) => ({ object: this.put(target), message: 'created' }),
      delete: async (live) => {
        this.log.push(`delete ${live.kind}/${live.metadata.name ?? ''}`);
        if (this.changedMarks.has(live.metadata.name ?? '')) return 'changed';
        if (!this.live.delete(keyOf(live))) throw new NotFoundError();
        return 'accepted';
      },
      patchMetadata: async (live, patch) => {
        const error = this.beforePatch.shift()?.();
        if (error !== undefined) throw error;
        const current = this.live.get(keyOf(live));
        if (current === undefined) throw new NotFoundError();
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
    this.isDryRun = options.dryRun === true;
    // The created destination namespace has no tracking, so it is no live object of the
    // application.
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
      releaseSlotWhile: (work) => work,
      waveAppliedAt: (wave) => this.appliedAt(wave),
      options: { ...readSyncOptions({ prune: true }, { pruneConfirmed: false, waveDelayMs: 0 }), ...options },
      destinationNamespace: 'prod',
      revision: '0123456789abcdef',
      startedAt: this.startedAt,
      attempt: '2023-11-14T22:13:20Z/0',
      results: this.results,
      isSelected: () => true,
      health: (live) => {
        if (this.healthFails) throw new Error('a broken script');
        return this.health.get(`${live.kind}/${live.metadata.name ?? ''}`) ?? null;
      },
      canPrune: (gk) => gk.kind !== 'Service',
      otherOwner: () => undefined,
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
  it('applies in the order of kinds and succeeds without waiting for health', async () => {
    const world = new SyncWorld();
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

  it('applies all other objects and fails with the reasons when the server rejects one', async () => {
    const world = new SyncWorld();
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

  it('applies nothing when a kind is unknown or the project denies an object', async () => {
    const world = new SyncWorld();
    world.unknown.add('Widget');
    const outcome = await world.step([object('ConfigMap', 'c'), object('Widget', 'w'), object('Secret', 's')]);
    expect(outcome).toMatchObject({
      phase: 'Failed',
      message:
        'one or more synchronization tasks are not valid: failed to discover server resources for group version example.com/v1: the server could not find the requested resource; resource :Secret is not permitted in project default',
    });
    expect(world.log).toEqual([]);
    expect(outcome.results.map((r) => [r.kind, r.status])).toEqual([
      ['Secret', 'SyncFailed'],
      ['Widget', 'SyncFailed'],
    ]);
  });

  it('tells a kind that is missing in a served version from a version that is not served', async () => {
    const widget = object('Widget', 'w');
    const message = async (apiVersion: string, kind: string): Promise<string | undefined> => {
      const [result] = (await new SyncWorld().step([{ ...widget, apiVersion, kind }])).results;
      return result?.message;
    };
    const unserved = (apiVersion: string): string =>
      `failed to discover server resources for group version ${apiVersion}: the server could not find the requested resource`;
    expect(await message('example.com/v1', 'Gadget')).toBe('Gadget.example.com "" not found');
    expect(await message('v1', 'Gadget')).toBe('Gadget "" not found');
    expect(await message('example.com/v2', 'Widget')).toBe(unserved('example.com/v2'));
    expect(await message('other.example.com/v1', 'Widget')).toBe(unserved('other.example.com/v1'));
  });

  it('accepts a kind whose CRD comes with the same sync', async () => {
    const world = new SyncWorld();
    world.unknown.add('Widget');
    const crd: KubeObject = {
      ...object('CustomResourceDefinition', 'widgets.example.com'),
      spec: { group: 'example.com', names: { kind: 'Widget' } },
    };
    await world.step([object('Widget', 'w'), crd]);
    expect(world.log).toEqual(['apply CustomResourceDefinition/widgets.example.com', 'apply Widget/w']);
  });

  it('sends dry runs only when the operation is a dry run', async () => {
    const world = new SyncWorld();
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

  // T-WAIT-1
  it.each(['Healthy', 'Degraded'] as const)(
    'do not treat a resource as %s by a status that is older than its spec',
    async (status) => {
      const world = new SyncWorld();
      world.startedAt = world.clock.now();
      world.health.set('Deployment/first', { status });
      await world.step(targets);
      const seen = (generation: number, observedGeneration: number): void => {
        const first = object('Deployment', 'first', wave(-1));
        world.put({ ...first, metadata: { ...first.metadata, generation }, status: { observedGeneration } });
      };
      // The status still describes the previous spec.
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

  // T-WAIT-1
  it('trust the health check after three minutes if a controller never updates observedGeneration', async () => {
    const world = new SyncWorld();
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

  it('start only when the previous wave is healthy', async () => {
    const world = new SyncWorld();
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

  it('keep what the apply of a resource reported while its rollout is under way', async () => {
    const world = new SyncWorld();
    const states: readonly HealthStatus[] = [
      { status: 'Progressing', message: 'Waiting for rollout to finish: 0 of 2 updated replicas are available...' },
      { status: 'Progressing', message: 'Waiting for rollout to finish: 1 of 2 updated replicas are available...' },
      { status: 'Suspended', message: 'paused' },
      { status: 'Unknown', message: 'no idea' },
    ];
    world.health.set('Deployment/first', { status: 'Progressing' });
    const applied = await world.step(targets);
    expect(applied.results).toMatchObject([{ hookPhase: 'Running', message: 'Deployment/first applied' }]);
    for (const state of states) {
      world.health.set('Deployment/first', state);
      // Nothing of the outcome changes, so the state of the operation is not written again.
      expect(await world.step(targets)).toEqual(applied);
    }
    world.healthFails = true;
    expect(await world.step(targets)).toEqual(applied);
    world.healthFails = false;
    world.health.set('Deployment/first', { status: 'Healthy' });
    world.health.set('Deployment/second', { status: 'Healthy', message: 'all there' });
    for (let i = 0; i < 6; i += 1) if ((await world.step(targets)).phase === 'Succeeded') break;
    expect(world.results).toMatchObject([
      { name: 'first', hookPhase: 'Succeeded', message: 'Deployment/first applied' },
      { name: 'second', hookPhase: 'Succeeded', message: 'all there' },
      { name: 'last', hookPhase: 'Running', message: 'ConfigMap/last applied' },
    ]);
  });

  it('name the first object of the wave that was applied, also a Namespace', async () => {
    const world = new SyncWorld();
    const more = [object('Namespace', 'other'), object('ConfigMap', 'c'), object('ConfigMap', 'last', wave(1))];
    expect(await world.step(more)).toMatchObject({
      phase: 'Running',
      message: 'waiting for healthy state of /Namespace/other and 1 more resources',
    });
  });

  it('do not count a failed read of an object that is missing from the cache as a failed sync', async () => {
    const world = new SyncWorld();
    world.health.set('Deployment/first', { status: 'Progressing' });
    await world.step(targets);
    world.live.clear();
    const request = world.request(targets);
    const get = async (): Promise<never> => {
      throw new DriftlessError('KUBE_TIMEOUT', 'too slow');
    };
    const { results } = await syncStep({ ...request, writer: { ...request.writer, get } });
    expect(results).toMatchObject([
      { status: 'Synced', hookPhase: 'Error', message: 'Failed to get live resource too slow' },
    ]);
  });

  it('fail the operation when one degrades, and do not start the next', async () => {
    const world = new SyncWorld();
    world.health.set('Deployment/first', { status: 'Progressing' });
    await world.step(targets);
    world.health.set('Deployment/first', { status: 'Degraded', message: 'crash loop' });
    expect(await world.step(targets)).toMatchObject({
      phase: 'Failed',
      message: 'one or more synchronization tasks completed unsuccessfully',
    });
    expect(world.log).toEqual(['apply Deployment/first']);
  });

  it('repeat nothing when another replica continues from the recorded results', async () => {
    const world = new SyncWorld();
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

  it('apply a namespace before its objects, whatever the waves', async () => {
    const world = new SyncWorld();
    world.health.set('Namespace/prod', null);
    await world.step([object('Namespace', 'prod', wave(5)), object('ConfigMap', 'c', wave(1))]);
    expect(world.log).toEqual(['apply Namespace/prod', 'apply ConfigMap/c']);
  });
});

describe('pruning', () => {
  it('deletes objects without a target, later waves first', async () => {
    const world = new SyncWorld();
    world.put(object('ConfigMap', 'early', wave(0)));
    world.put(object('ConfigMap', 'late', wave(3)));
    const first = await world.step([]);
    expect(world.log).toEqual(['delete ConfigMap/late']);
    expect(first.phase).toBe('Running');
    await world.step([]);
    expect(world.log).toEqual(['delete ConfigMap/late', 'delete ConfigMap/early']);
  });

  it('never deletes a CRD, even with tracking, and prunes other objects as usual', async () => {
    const world = new SyncWorld();
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
    ['the resource forbids it', { 'argocd.argoproj.io/sync-options': 'Prune=false' }, {}, 'ignored (no prune)'],
    ['the application forbids it', {}, { defaultPrune: 'false' }, 'ignored (no prune)'],
  ])('skips an object when %s', async (_name, annotations, options, message) => {
    const world = new SyncWorld();
    world.put(object('ConfigMap', 'old', annotations));
    const outcome = await world.step([], options);
    expect(outcome.results).toMatchObject([{ status: 'PruneSkipped', message }]);
    expect(world.log).toEqual([]);
  });

  it('keeps a Namespace that targets are in, and prunes another one', async () => {
    const inside = object('ConfigMap', 'inside');
    const target = { ...inside, metadata: { ...inside.metadata, namespace: 'kept' } };
    const world = new SyncWorld();
    for (const name of ['kept', 'gone']) world.put(object('Namespace', name));
    const outcome = await world.step([target, object('Namespace', 'third')]);
    expect(Object.fromEntries(outcome.results.map(({ name, message }) => [name, message]))).toMatchObject({
      kept: 'ignored (objects of this application are in it)',
      gone: 'pruned',
    });
  });

  it('skips an object whose tracking or annotations changed since the comparison, and prunes the rest', async () => {
    const world = new SyncWorld();
    world.put(object('ConfigMap', 'moved'));
    world.put(object('ConfigMap', 'old'));
    world.changedMarks.add('moved');
    const { phase, results } = await world.step([]);
    expect(phase).toBe('Succeeded');
    expect(Object.fromEntries(results.map(({ name, status, message }) => [name, [status, message]]))).toEqual({
      moved: ['PruneSkipped', 'ignored (its tracking, owners or annotations changed since it was compared)'],
      old: ['Pruned', 'pruned'],
    });
    expect([...world.live.values()].map(({ metadata }) => metadata.name)).toEqual(['moved']);
  });

  it('skips kinds whose live cache is not fresh', async () => {
    const world = new SyncWorld();
    world.put(object('Service', 'old'));
    const outcome = await world.step([]);
    expect(outcome.results).toMatchObject([{ kind: 'Service', status: 'PruneSkipped' }]);
    expect(world.log).toEqual([]);
  });

  it('prunes nothing while pruning is blocked, and applies the rest', async () => {
    const world = new SyncWorld();
    world.put(object('ConfigMap', 'old'));
    const request = { ...world.request([object('ConfigMap', 'new')]), pruneBlocked: 'the API versions are unknown' };
    const { phase, results } = await syncStep(request);
    expect([phase, results.map(({ name, status, message }) => [name, status, message])]).toEqual([
      'Succeeded',
      [
        ['old', 'PruneSkipped', 'ignored (the API versions are unknown)'],
        ['new', 'Synced', expect.any(String)],
      ],
    ]);
    expect([...world.live.values()].map(({ metadata }) => metadata.name).sort()).toEqual(['new', 'old']);
  });

  it('waits for a confirmation where the resource requires one', async () => {
    const world = new SyncWorld();
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
  it('run in their phase after the old one is deleted, and are awaited', async () => {
    const world = new SyncWorld();
    world.put({
      ...object('Job', 'migrate', hook('PreSync')),
      metadata: { ...object('Job', 'migrate', hook('PreSync')).metadata },
    });
    const targets = [object('Job', 'migrate', hook('PreSync')), object('ConfigMap', 'c')];
    const other = object('Job', 'new', hook('PreSync'));
    expect(await world.step([...targets, other])).toMatchObject({
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

  it.each([
    ['BeforeHookCreation', ['apply Job/check', 'apply ConfigMap/c', 'delete Job/check', 'apply Job/check']],
    ['HookSucceeded', ['apply Job/check', 'apply ConfigMap/c', 'apply Job/check', 'delete Job/check']],
  ])('of several phases run in each of them, with the policy %s', async (policy, log) => {
    const world = new SyncWorld();
    world.health.set('Job/check', { status: 'Healthy' });
    const targets = [object('Job', 'check', hook('PreSync,PostSync', policy)), object('ConfigMap', 'c')];
    const ends = async (): Promise<boolean> => (await world.step(targets)).phase === 'Succeeded';
    for (let i = 0; i < 10; i += 1) if (await ends()) break;
    expect(world.log.slice(0, 4)).toEqual(log);
    expect(world.results.map(({ name, syncPhase, hookPhase }) => [name, syncPhase, hookPhase])).toEqual([
      ['check', 'PreSync', 'Succeeded'],
      ['c', 'Sync', 'Succeeded'],
      ['check', 'PostSync', 'Succeeded'],
    ]);
  });

  it('of several phases are awaited in the phase that created them, by a replica that finds no record', async () => {
    const world = new SyncWorld();
    world.health.set('Job/check', { status: 'Healthy' });
    const targets = [object('Job', 'check', hook('PreSync,PostSync')), object('ConfigMap', 'c')];
    const begun = (): boolean => world.log.filter((call) => call === 'apply Job/check').length === 2;
    let recorded = world.results;
    for (let i = 0; i < 10 && !begun(); i += 1) {
      recorded = world.results;
      await world.step(targets);
    }
    world.results = recorded;
    world.health.set('Job/check', { status: 'Progressing' });
    expect(await world.step(targets)).toMatchObject({ message: 'waiting for completion of hook batch/Job/check' });
    expect(world.log.filter((call) => call === 'apply Job/check')).toHaveLength(2);
  });

  it('run SyncFail when the sync fails, and the operation fails with the reason', async () => {
    const world = new SyncWorld();
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

  it('are deleted after success with HookSucceeded, and keep no finalizer', async () => {
    const world = new SyncWorld();
    world.health.set('Job/once', { status: 'Healthy' });
    const targets = [object('Job', 'once', hook('PreSync', 'HookSucceeded'))];
    for (let i = 0; i < 4; i += 1) if ((await world.step(targets)).phase === 'Succeeded') break;
    expect(world.log).toEqual(['apply Job/once', 'delete Job/once']);
  });

  // T-OP-2
  it('fail the operation instead of blocking it forever when they disappear while running', async () => {
    const world = new SyncWorld();
    world.health.set('Job/gone', { status: 'Progressing' });
    const targets = [object('Job', 'gone', hook('PreSync')), object('ConfigMap', 'c')];
    await world.step(targets);
    world.live.clear();
    await world.step(targets);
    const end = await world.step(targets);
    expect(end.phase).toBe('Failed');
    expect(end.message).toContain('Resource batch/Job/gone is missing, it might have been deleted');
  });

  it.each([
    ['Progressing', undefined, { hookPhase: 'Failed', message: 'Terminated' }, true],
    ['Healthy', undefined, { hookPhase: 'Succeeded', message: 'done' }, false],
    ['Healthy', 'HookFailed', { hookPhase: 'Succeeded', message: 'done' }, true],
    ['Degraded', undefined, { hookPhase: 'Failed', message: 'done' }, false],
    ['Degraded', 'HookFailed', { hookPhase: 'Failed', message: 'done' }, true],
  ] as const)('that are %s with the policy %s end as %j when terminated', async (status, policy, result, isDeleted) => {
    const world = new SyncWorld();
    world.health.set('Job/long', { status: 'Progressing' });
    const targets = [object('Job', 'long', hook('PreSync', policy))];
    await world.step(targets);
    world.health.set('Job/long', { status, message: 'done' });
    const outcome = await terminateSync(world.request(targets));
    expect(outcome).toMatchObject({ phase: 'Failed', message: 'Operation terminated', results: [result] });
    expect(world.live.size).toBe(isDeleted ? 0 : 1);
    expect([...world.live.values()].map(({ metadata }) => metadata.finalizers)).toEqual(isDeleted ? [] : [[]]);
  });

  it('that cannot be read, released or deleted make the termination an error', async () => {
    const targets = [object('Job', 'long', hook('PreSync'))];
    const terminated = async (change: (world: SyncWorld) => Partial<ClusterWriter>): Promise<SyncOutcome> => {
      const world = new SyncWorld();
      world.health.set('Job/long', { status: 'Progressing' });
      await world.step(targets);
      const request = world.request(targets);
      return terminateSync({ ...request, writer: { ...request.writer, ...change(world) } });
    };
    const refuse = async (): Promise<never> => {
      throw new DriftlessError('KUBE_FORBIDDEN', 'no');
    };
    const ends = [
      await terminated(() => ({ get: refuse })),
      await terminated(() => ({ patchMetadata: refuse })),
      await terminated(() => ({ delete: refuse })),
      await terminated((world) => {
        world.healthFails = true;
        return {};
      }),
    ];
    expect(ends.map(({ phase, message }) => `${phase}: ${message}`)).toEqual([
      'Error: Operation termination had errors',
      'Error: Operation termination had errors',
      'Error: Operation termination had errors',
      'Failed: Operation terminated',
    ]);
    expect(ends.flatMap(({ results }) => results.map(({ hookPhase, message }) => [hookPhase, message]))).toEqual([
      ['Error', 'Failed to get live resource: failed to get resource: no'],
      ['Error', 'Failed to remove hook finalizer: failed to update resource: no'],
      ['Failed', 'Failed to delete: failed to delete resource: no'],
      ['Error', 'Failed to get hook health: failed to get resource health: a broken script'],
    ]);
  });

  it('are deleted by terminate', async () => {
    const world = new SyncWorld();
    world.health.set('Job/long', { status: 'Progressing' });
    const targets = [object('Job', 'long', hook('PreSync'))];
    await world.step(targets);
    const outcome = await terminateSync(world.request(targets));
    expect(outcome).toMatchObject({ phase: 'Failed', message: 'Operation terminated' });
    expect(outcome.results).toMatchObject([{ name: 'long', hookPhase: 'Failed', message: 'Terminated' }]);
    expect(world.live.size).toBe(0);
  });
});

describe('the finalizer of a finished hook', () => {
  const ours = 'argocd.argoproj.io/hook-finalizer';
  const targets = [object('Job', 'once', hook('PreSync'))];

  /** A world with a finished and recorded hook that still has its finalizer. */
  async function finished(): Promise<SyncWorld> {
    const world = new SyncWorld();
    world.health.set('Job/once', { status: 'Healthy' });
    await world.step(targets);
    await world.step(targets);
    world.log.length = 0;
    world.patches.length = 0;
    return world;
  }
  const stored = (world: SyncWorld): KubeObject => [...world.live.values()][0]!;
  const edit = (world: SyncWorld, metadata: object): void => {
    const now = stored(world);
    world.live.set(keyOf(now), { ...now, metadata: { ...now.metadata, ...metadata } });
  };

  it('is removed after a fresh read, so that finalizers of others stay', async () => {
    const world = await finished();
    const request = world.request(targets);
    edit(world, { finalizers: [ours, 'example.com/keep'], resourceVersion: '9' });
    expect(await syncStep(request)).toMatchObject({ phase: 'Succeeded' });
    expect(world.patches).toEqual(['Job/once example.com/keep']);
  });

  it('is removed again after conflicts, and repeated conflicts fail the hook', async () => {
    const world = await finished();
    for (let i = 0; i < 4; i += 1) world.beforePatch.push(() => new ConflictError());
    expect(await world.step(targets)).toMatchObject({ phase: 'Succeeded' });
    expect(world.patches).toEqual(['Job/once ']);
    const other = await finished();
    for (let i = 0; i < 5; i += 1) other.beforePatch.push(() => new ConflictError());
    expect(await other.step(targets)).toMatchObject({
      phase: 'Failed',
      results: [{ hookPhase: 'Error', message: 'Failed to remove hook finalizer: the object has been modified' }],
    });
  });

  it('is removed from a hook that the cache does not have', async () => {
    const world = await finished();
    const request = world.request(targets);
    expect(await syncStep({ ...request, liveHooks: [] })).toMatchObject({ phase: 'Succeeded' });
    expect(world.patches).toEqual(['Job/once ']);
    // The next sync creates it again, so its old finalizer must go first.
    const stale = await finished();
    stale.results = [];
    for (let i = 0; i < 5; i += 1) stale.beforePatch.push(() => new ConflictError());
    const next = syncStep({ ...stale.request(targets), attempt: 'the next operation' });
    void stale.clock.advance(10_000);
    expect(await next).toMatchObject({
      results: [{ hookPhase: 'Error', message: 'failed to remove hook finalizer: the object has been modified' }],
    });
    expect(stale.log).toEqual([]);
  });

  it('does not matter when the hook is deleted before or during the write', async () => {
    for (const interfere of [undefined, (): Error => new NotFoundError()]) {
      const world = await finished();
      const request = world.request(targets);
      if (interfere === undefined) world.live.clear();
      else world.beforePatch.push(interfere);
      expect(await syncStep(request)).toMatchObject({ phase: 'Succeeded' });
      expect([...world.log, ...world.patches]).toEqual([]);
    }
  });

  it('stays on another object of the same name', async () => {
    const world = await finished();
    const request = world.request(targets);
    edit(world, { uid: 'other' });
    expect(await syncStep(request)).toMatchObject({ phase: 'Succeeded' });
    expect([...world.log, ...world.patches]).toEqual([]);
  });
});

describe('a dry run', () => {
  const crd: KubeObject = {
    ...object('CustomResourceDefinition', 'widgets.example.com', wave(1)),
    spec: { group: 'example.com', names: { kind: 'Widget' } },
  };
  const confirm = { 'argocd.argoproj.io/sync-options': 'Prune=confirm' };

  it('skips kinds of CRDs in the same sync in every wave, and ends', async () => {
    const world = new SyncWorld();
    world.unknown.add('Widget');
    const outcome = await world.step([crd, object('Widget', 'w', wave(2)), object('ConfigMap', 'c')], { dryRun: true });
    expect(outcome).toMatchObject({ phase: 'Succeeded', message: 'successfully synced (no more tasks)' });
    expect(outcome.results.map(({ name, status, message }) => [name, status, message])).toContainEqual([
      'w',
      'Synced',
      'Widget/w skipped: the cluster does not serve its kind yet (dry run)',
    ]);
    expect(world.log).toEqual(['dry apply ConfigMap/c', 'dry apply CustomResourceDefinition/widgets.example.com']);
  });

  it.each([
    ['reports a missing confirmation without waiting for it', false, 'ignored (requires confirmation)'],
    ['tries a confirmed prune', true, 'pruned (dry run)'],
  ])('%s', async (_name, pruneConfirmed, message) => {
    const world = new SyncWorld();
    world.put(object('ConfigMap', 'precious', confirm));
    const targets = [object('ConfigMap', 'c', wave(-1)), object('ConfigMap', 'd', wave(1))];
    const end = await world.step(targets, { dryRun: true, pruneConfirmed });
    expect(end).toMatchObject({ phase: 'Succeeded' });
    expect(end.results).toContainEqual(expect.objectContaining({ name: 'precious', message }));
    expect(world.log).toEqual(['dry apply ConfigMap/c', 'dry apply ConfigMap/d']);
  });

  it('changes no hooks or finalizers, even when terminated', async () => {
    const world = new SyncWorld();
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

describe('after a CRD was applied', () => {
  it('a failed read is reported, and the sync continues', async () => {
    const world = new SyncWorld();
    const crd = { ...object('CustomResourceDefinition', 'w.example.com'), spec: { group: 'example.com' } };
    const request = world.request([crd, object('ConfigMap', 'c')]);
    const get = (): Promise<never> => Promise.reject(new DriftlessError('KUBE_FORBIDDEN', 'may not read'));
    const outcome = await syncStep({ ...request, writer: { ...world.writer, get } });
    expect(outcome).toMatchObject({ phase: 'Succeeded' });
    expect(world.warnings).toEqual(['failed to ensure that CRD w.example.com is ready: may not read']);
  });

  it('an unchanged one is not read again', async () => {
    const world = new SyncWorld();
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

  it('one that is never established is reported', async () => {
    const world = new SyncWorld();
    const crd = { ...object('CustomResourceDefinition', 'w.example.com'), spec: { group: 'example.com' } };
    expect(await world.step([crd])).toMatchObject({ phase: 'Succeeded' });
    expect(world.warnings).toEqual(['failed to ensure that CRD w.example.com is ready: it is not established yet']);
  });
});

describe('a replica that died', () => {
  it('after creating a hook and before recording it: the hook is awaited, not created again', async () => {
    const world = new SyncWorld();
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

  it('after deleting a finished hook and before recording the end: the operation still succeeds', async () => {
    const world = new SyncWorld();
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
  it('records the result of the created namespace without a namespace', async () => {
    const world = new SyncWorld();
    const outcome = await world.step([object('ConfigMap', 'c')], { createNamespace: true });
    const made = outcome.results.find(({ kind }) => kind === 'Namespace');
    expect(made).toMatchObject({ name: 'prod', namespace: '' });
    // The next step finds the result by that key.
    await world.step([object('ConfigMap', 'c')], { createNamespace: true });
    expect(world.log.filter((line) => line === 'apply Namespace/prod')).toHaveLength(1);
  });

  it('creates the namespace first and does not change an existing one', async () => {
    const world = new SyncWorld();
    await world.step([object('ConfigMap', 'c')], { createNamespace: true });
    expect(world.log[0]).toBe('apply Namespace/prod');
    for (let i = 0; i < 3; i += 1)
      if ((await world.step([object('ConfigMap', 'c')], { createNamespace: true })).phase === 'Succeeded') break;
    expect(world.log).toEqual(['apply Namespace/prod', 'apply ConfigMap/c']);
  });
});

describe('an object without a name', () => {
  const nameless = (kind: string, metadata: object = {}): KubeObject => ({ ...object(kind, ''), metadata });
  const failed = 'one or more objects failed to apply (dry run)';

  it.each([
    ['without metadata', {}, 'resource name may not be empty'],
    ['with an empty name', { name: '' }, 'resource name may not be empty'],
    ['with null as name', { name: null, generateName: null }, 'resource name may not be empty'],
    ['with generateName', { generateName: 'x-' }, 'from x-: cannot use generate name with apply'],
  ])('%s fails the sync before anything is applied', async (_, metadata, message) => {
    const world = new SyncWorld();
    world.put(object('ConfigMap', 'old'));
    const targets = [
      object('Job', 'migrate', hook('PreSync')),
      object('ConfigMap', 'c'),
      nameless('ConfigMap', metadata),
    ];
    const outcome = await world.step(targets, { createNamespace: true });
    expect(outcome).toMatchObject({ phase: 'Failed', message: failed });
    expect(outcome.results).toEqual([
      {
        group: '',
        version: 'v1',
        kind: 'ConfigMap',
        namespace: 'prod',
        name: '',
        status: 'SyncFailed',
        hookPhase: 'Failed',
        syncPhase: 'Sync',
        message,
      },
    ]);
    expect(world.log).toEqual([]);
  });

  it('fails an operation that is a dry run, which tries all others', async () => {
    const world = new SyncWorld();
    world.refuse.set('ConfigMap/', 'resource name may not be empty');
    const outcome = await world.step([object('ConfigMap', 'c'), nameless('ConfigMap')], { dryRun: true });
    expect(outcome).toMatchObject({ phase: 'Failed', message: failed });
    expect(outcome.results.map(({ name, status }) => [name, status])).toEqual([
      ['', 'SyncFailed'],
      ['c', 'Synced'],
    ]);
  });

  it('is left to the server where it is replaced, or its kind is not served yet', async () => {
    const replaced = new SyncWorld();
    await replaced.step([nameless('ConfigMap')], { replace: true });
    await replaced.step([nameless('Job', { annotations: { 'argocd.argoproj.io/sync-options': 'Replace=true' } })]);
    expect(replaced.log).toEqual(['apply ConfigMap/', 'apply Job/']);
    const unserved = new SyncWorld();
    unserved.unknown.add('Widget');
    const outcome = await unserved.step([object('ConfigMap', 'c'), nameless('Widget')], { skipDryRunOnMissing: true });
    expect(outcome.message).not.toBe(failed);
    expect(unserved.log).toContain('apply ConfigMap/c');
  });

  it('does not fail a sync of other resources', async () => {
    const world = new SyncWorld();
    const request = world.request([object('ConfigMap', 'c'), nameless('ConfigMap')]);
    const outcome = await syncStep({ ...request, isSelected: ({ metadata }) => metadata.name === 'c' });
    expect(outcome).toMatchObject({ phase: 'Succeeded', results: [{ name: 'c' }] });
  });

  it.each([
    ['no metadata', {}, '0123456-presync-1700000000'],
    ['null as name', { name: null }, '0123456-presync-1700000000'],
    ['generateName', { generateName: 'up-' }, 'up-0123456-presync-1700000000'],
  ])('is named after revision, phase and start as a hook with %s', async (_, metadata, name) => {
    const world = new SyncWorld();
    const job = nameless('Job', { ...metadata, annotations: hook('PreSync') });
    const outcome = await world.step([job, object('ConfigMap', 'c')]);
    expect(world.log).toEqual([`apply Job/${name}`]);
    expect(outcome.results).toMatchObject([{ name, hookType: 'PreSync' }]);
  });
});
