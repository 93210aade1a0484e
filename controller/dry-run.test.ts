import { afterEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { withLastApplied } from '#diff';
import { apiResource, KubeApiError } from '#kube';
import { jsonOf } from '#model';
import type { HealthStatus, KubeObject } from '#model';
import { pairResources, readSyncOptions, syncStep, terminateSync } from '#sync';
import type { SyncRequest } from '#sync';
import { FakeClock } from '#support';
import { Syncer } from './operation/syncer.ts';
import { dryRunOnly } from './write/wrapped-clients.ts';
import { uncheckedCall, unpaced } from './testing/pace.ts';
import { FakeApi } from './testing/fake-api.ts';
import { configMap, FakeWorld } from './testing/fake-world.ts';
import { GuardedWriter } from './write/writer.ts';

/** A dry-run operation changes nothing, whatever its plan and duration. */
const kinds = [
  apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced'),
  apiResource('v1', 'Namespace', 'namespaces', 'cluster'),
  apiResource('batch/v1', 'Job', 'jobs', 'namespaced'),
  apiResource('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions', 'cluster'),
];
const versions: Readonly<Record<string, string>> = {
  ConfigMap: 'v1',
  Namespace: 'v1',
  Job: 'batch/v1',
  CustomResourceDefinition: 'apiextensions.k8s.io/v1',
  Widget: 'example.com/v1',
};
const attempt = '2023-11-14T22:13:20Z/0';
const ourFinalizer = 'argocd.argoproj.io/hook-finalizer';

const anObject = fc.record({
  kind: fc.constantFrom('ConfigMap', 'ConfigMap', 'Job', 'Job', 'Widget', 'CustomResourceDefinition', 'Namespace'),
  name: fc.constantFrom('a', 'b', 'c'),
  wave: fc.integer({ min: -1, max: 1 }),
  hook: fc.constantFrom('', '', 'PreSync', 'Sync', 'PostSync', 'SyncFail'),
  policy: fc.constantFrom('', 'HookSucceeded', 'HookFailed', 'BeforeHookCreation'),
  option: fc.constantFrom('', 'Prune=confirm', 'Prune=false', 'Force=true', 'Replace=true', 'ServerSideApply=true'),
  finalizer: fc.boolean(),
  mine: fc.boolean(),
  value: fc.constantFrom('1', '2'),
});
type Drawn = typeof anObject extends fc.Arbitrary<infer T> ? T : never;

function made(drawn: Drawn, live: boolean): KubeObject {
  const clusterScoped = drawn.kind === 'Namespace' || drawn.kind === 'CustomResourceDefinition';
  const annotations = {
    'argocd.argoproj.io/sync-wave': String(drawn.wave),
    ...(drawn.hook === '' ? {} : { 'argocd.argoproj.io/hook': drawn.hook }),
    ...(drawn.policy === '' ? {} : { 'argocd.argoproj.io/hook-delete-policy': drawn.policy }),
    ...(drawn.option === '' ? {} : { 'argocd.argoproj.io/sync-options': drawn.option }),
    ...(live && drawn.mine ? { 'driftless.io/operation': attempt } : {}),
  };
  return {
    apiVersion: versions[drawn.kind] ?? 'v1',
    kind: drawn.kind,
    metadata: {
      name: drawn.name,
      annotations,
      ...(clusterScoped ? {} : { namespace: 'apps' }),
      ...(live && drawn.finalizer ? { finalizers: [ourFinalizer] } : {}),
    },
    spec: { value: drawn.value, group: 'example.com', names: { kind: 'Widget' } },
  };
}

const plan = fc.record({
  targets: fc.array(anObject, { maxLength: 6 }),
  live: fc.array(anObject, { maxLength: 6 }),
  prune: fc.boolean(),
  confirmAt: fc.integer({ min: 0, max: 6 }),
  terminateAt: fc.integer({ min: 0, max: 9 }),
  options: fc.subarray([
    'CreateNamespace=true',
    'PruneLast=true',
    'Replace=true',
    'ServerSideApply=true',
    'Prune=confirm',
  ]),
  force: fc.boolean(),
  health: fc.constantFrom('Healthy', 'Progressing', 'Degraded', 'none'),
  refuse: fc.constantFrom('', 'patch', 'create', 'replace'),
});

describe('a dry-run operation', () => {
  it('sends only dry-run writes, for any plan', async () => {
    const seen = { confirm: 0, hooks: 0, tried: 0 };
    await fc.assert(
      fc.asyncProperty(plan, async (drawn) => {
        const api = new FakeApi('https://c', kinds);
        for (const one of drawn.live) if (one.kind !== 'Widget') api.put(withLastApplied(made(one, true)));
        const before = JSON.stringify([...api.objects]);
        await run(api, drawn);
        const writes = api.calls.filter((call) => !/^(?:get|list|discover)/.test(call));
        expect(writes.filter((call) => !call.endsWith('(dry run)'))).toEqual([]);
        // The steps do not even try a deletion: its dry run would tell nothing.
        expect(writes.filter((call) => call.startsWith('delete'))).toEqual([]);
        expect(JSON.stringify([...api.objects])).toBe(before);
        seen.tried += writes.length;
        seen.confirm += drawn.live.filter(({ option }) => option === 'Prune=confirm').length;
        seen.hooks += drawn.live.filter(({ hook, finalizer }) => hook !== '' && finalizer).length;
      }),
      { numRuns: 300, seed: 8 },
    );
    // The plans must have contained writes.
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(100);
  });
});

async function run(api: FakeApi, drawn: typeof plan extends fc.Arbitrary<infer T> ? T : never): Promise<void> {
  const clock = new FakeClock();
  const refusal = new KubeApiError({ code: 422, reason: 'Invalid', message: 'no' }, 'x');
  const client = api.client({
    before: (call) => {
      if (drawn.refuse !== '' && call.startsWith(drawn.refuse)) throw refusal;
    },
  });
  const cluster = { discovery: () => api.discovery, observe: () => undefined };
  const writer = new GuardedWriter({
    cluster,
    client,
    clock,
    pace: unpaced,
    denied: () => undefined,
    appOf: () => undefined,
    fenced: (signal, send) => send(uncheckedCall(signal)),
    dryRun: true,
  });
  let results: SyncRequest['results'] = [];
  for (let i = 0; i < 8; i += 1) {
    const request = requestFor(api, drawn, { writer, clock, results, step: i });
    const work = i === drawn.terminateAt ? terminateSync(request) : syncStep(request);
    await clock.advance(10_000);
    const outcome = await work;
    results = outcome.results;
    if (outcome.phase !== 'Running') return;
  }
}

function requestFor(
  api: FakeApi,
  drawn: typeof plan extends fc.Arbitrary<infer T> ? T : never,
  now: {
    readonly writer: GuardedWriter;
    readonly clock: FakeClock;
    readonly results: SyncRequest['results'];
    readonly step: number;
  },
): SyncRequest {
  const isNamespaced = ({ kind }: { kind: string }): boolean | undefined =>
    kinds.find((one) => one.kind === kind)?.namespaced;
  const targets = new Map(drawn.targets.map((one) => [`${one.kind}/${one.name}`, made(one, false)]));
  const paired = pairResources([...targets.values()], api.objects, 'apps', isNamespaced);
  const health: HealthStatus | null = drawn.health === 'none' ? null : { status: drawn.health as 'Healthy' };
  const sync = {
    dryRun: true,
    prune: drawn.prune,
    syncOptions: drawn.options,
    syncStrategy: { hook: { force: drawn.force } },
  };
  return {
    resources: paired.pairs.map((pair) => ({ ...pair, modified: true })),
    hooks: paired.hooks,
    liveHooks: paired.liveHooks,
    options: readSyncOptions(sync, { pruneConfirmed: now.step >= drawn.confirmAt, waveDelayMs: 100 }),
    destinationNamespace: 'apps',
    revision: 'a'.repeat(40),
    startedAt: 1_700_000_000_000,
    attempt,
    results: now.results,
    isSelected: () => true,
    releaseSlotWhile: (work) => work,
    waveAppliedAt: () => 0,
    health: () => health,
    canPrune: () => true,
    otherOwner: () => undefined,
    namespaceModifier: (live) =>
      live === null ? { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apps' } } : null,
    writer: now.writer,
    warn: () => undefined,
    clock: now.clock,
    signal: new AbortController().signal,
  };
}

describe('a client for dry runs', () => {
  it.each([[false], [true]])(
    'sends every verb as a dry run, whatever its caller requests (impersonating: %s)',
    async (acting) => {
      const api = new FakeApi('https://c', kinds);
      const there = api.put(configMap('there'));
      const plain = dryRunOnly(api.client());
      const client = acting ? plain.impersonate('deployer') : plain;
      const [resource] = kinds;
      if (resource === undefined) throw new Error('there are kinds');
      const name = { namespace: there.metadata.namespace ?? '', name: 'there' };
      const options = { signal: new AbortController().signal, dryRun: false };
      await client.create(resource, configMap('new'), options);
      await client.replace(resource, { ...there, metadata: { ...there.metadata, labels: { a: 'b' } } }, options);
      await client.patch(resource, name, { type: 'merge', body: { metadata: { labels: { a: 'b' } } } }, options);
      await client.delete(resource, name, options);
      expect(api.calls).toEqual(
        ['create ConfigMap new', 'replace ConfigMap there', 'patch ConfigMap there', 'delete ConfigMap there'].map(
          (call) => `${call} (dry run)`,
        ),
      );
      expect([...api.objects.values()]).toEqual([there]);
    },
  );
});

describe('the controller', () => {
  const clock = new FakeClock();
  const stops: (() => Promise<void>)[] = [];
  afterEach(async () => {
    const ended = stops.splice(0).map((stop) => stop());
    await clock.advance(60_000);
    await Promise.all(ended);
    jest.restoreAllMocks();
  });

  it('gives a dry run a writer that cannot write, and reports what it would do', async () => {
    const world = new FakeWorld(clock);
    const sha = 'a'.repeat(40);
    const hook = { 'argocd.argoproj.io/hook': 'PreSync', 'argocd.argoproj.io/hook-delete-policy': 'HookSucceeded' };
    world.git.push(sha, [configMap('one'), configMap('hook', '1', hook)]);
    const tracked = { 'argocd.argoproj.io/tracking-id': 'demo:/ConfigMap:apps/gone' };
    for (const name of ['hook', 'gone']) {
      const object = configMap(name, '0', name === 'gone' ? tracked : hook);
      world.dest.put({ ...object, metadata: { ...object.metadata, namespace: 'apps', finalizers: [ourFinalizer] } });
    }
    const before = jsonOf([...world.dest.objects.values()]);
    const options = ['CreateNamespace=true'];
    world.application({}, { operation: { sync: { revision: sha, dryRun: true, prune: true, syncOptions: options } } });
    const writers = jest.spyOn(Syncer.prototype, 'writer');
    const replica = world.replica();
    stops.push(() => replica.stop());
    await clock.advance(30_000);
    expect(world.app.status?.operationState).toMatchObject({ phase: 'Succeeded' });
    const results = world.app.status?.operationState?.syncResult?.resources?.map(({ name, message }) => [
      name,
      message,
    ]);
    expect(results).toEqual(
      expect.arrayContaining([
        ['one', 'configmap/one created (dry run)'],
        ['gone', 'pruned (dry run)'],
      ]),
    );
    expect(jsonOf([...world.dest.objects.values()])).toEqual(before);
    expect(world.dest.calls.filter((call) => /^(?:create|patch|replace|delete)/.test(call)).length).toBeGreaterThan(1);
    expect(world.app.status?.history).toBeUndefined();
    expect(writers).toHaveBeenCalled();
    for (const [, , rights] of writers.mock.calls) expect(rights.dryRun).toBe(true);
  });
});
