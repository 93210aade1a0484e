import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openRenderer } from './desired.ts';
import { healthOf, healthScripts, worstHealth } from './health.ts';
import { openCache } from './live.ts';
import type { ClusterCache } from './live.ts';
import { distribute, joinFleet, legacyShard, rebalance, shardOfText } from './sharding.ts';
import { kubeConfigOf, startCluster } from './sim.ts';
import type { SimCluster } from './sim.ts';

type Case = readonly [given: unknown, ...parts: readonly string[]];

/** Callers without types pass anything. */
function untyped<R>(call: (...args: never[]) => R): (...args: unknown[]) => R {
  return call as unknown as (...args: unknown[]) => R;
}

/** The error names every part: the option, what it got, what is valid. */
async function expectUsage(call: () => unknown, parts: readonly string[]): Promise<void> {
  const error: unknown = await Promise.resolve()
    .then(call)
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'USAGE' });
  for (const part of parts) expect((error as Error).message).toContain(part);
}

const members = 1;
const documents = { read: () => Promise.resolve(undefined), write: () => Promise.resolve('1') };

describe('invalid options', () => {
  let sim: SimCluster;
  let cache: ClusterCache;
  beforeAll(async () => {
    sim = await startCluster({ workloads: { enabled: false, delayMs: 0 } });
    cache = await openCache({ kubeConfig: kubeConfigOf(sim), include: [{ groups: [''], kinds: ['ConfigMap'] }] });
  });
  afterAll(async () => {
    await cache.close();
    await sim.close();
  });

  it.each<Case>([
    [{ include: [{ group: 'apps', kind: 'Deployment' }] }, 'options.include[0]', '"group"', 'groups, kinds'],
    [{ include: [{ kinds: ['Deployment'] }] }, 'options.include[0].groups', 'a list', 'undefined'],
    [{ exclude: { groups: ['apps'] } }, 'options.exclude', 'a list', 'an object'],
    [{ resyncMs: '10' }, 'options.resyncMs', 'a number', '"10"'],
    [{ resyncMs: -1 }, 'options.resyncMs', 'at least 0', '-1'],
    [{ fillDeadlineMs: Number.NaN }, 'options.fillDeadlineMs', 'NaN'],
    [{ handlerDeadlineMs: 0 }, 'options.handlerDeadlineMs', 'at least 1'],
    [{ namespaces: 'default' }, 'options.namespaces', 'a list', '"default"'],
    [{ namespaces: [''] }, 'options.namespaces[0]', 'not empty'],
    [{ clusterScoped: 'yes' }, 'options.clusterScoped', 'true or false'],
    [{ keep: 'x' }, 'options.keep', 'a function', '"x"'],
    [{ onProblem: 1 }, 'options.onProblem', 'a function', '1'],
    [{ health: 'x' }, 'options.health', 'an object'],
    [{ kubeConfig: 5 }, 'options.kubeConfig', 'a path', '5'],
    [{ kubeConfig: {} }, 'options.kubeConfig', 'getCurrentContext', 'an object'],
    [{ kubeConfig: 'apiVersion: v1\nkind: Config\n' }, 'options.kubeConfig', 'path', 'not its text'],
    [{ context: 5 }, 'options.context', 'a text', '5'],
    [{ kubeconfig: '/x' }, '"kubeconfig"', 'kubeConfig', 'namespaces'],
    [null, 'options must be an object, not null'],
    [undefined, 'kubeConfig', 'KUBERNETES_SERVICE_HOST'],
  ])('openCache(%j)', (given, ...parts) => expectUsage(() => untyped(openCache)(given), parts));

  it.each<Case>([
    [{ kind: ['ConfigMap'] }, '"kind"', 'kinds, namespaces'],
    [{ kinds: ['ConfigMap'] }, 'options.kinds[0]', 'an object', '"ConfigMap"'],
    [{ kinds: [{ kind: 'ConfigMap' }] }, 'options.kinds[0].group', 'undefined'],
    [{ namespaces: 'default' }, 'options.namespaces', 'a list'],
    [{ scope: 'all' }, 'options.scope', 'namespaced, cluster', '"all"'],
    [{ matchLabels: { a: 1 } }, 'options.matchLabels["a"]', 'a text', '1'],
    [{ matchExpressions: [{ key: 'a', operator: 'in' }] }, 'options.matchExpressions[0].operator', 'NotIn', '"in"'],
  ])('list(%j)', (given, ...parts) => expectUsage(() => cache.list(given as never), parts));

  it.each<Case>([
    [{ create: () => undefined }, '"create"', 'created, updated, deleted, kinds'],
    [{ created: 'x' }, 'handlers.created', 'a function'],
    [undefined, 'handlers', 'undefined'],
  ])('subscribe(%j)', (given, ...parts) => expectUsage(() => cache.subscribe(given as never), parts));

  const ref = { group: '', kind: 'ConfigMap', namespace: 'default', name: 'a' };
  it.each<Case>([
    [{ kind: 'ConfigMap', name: 'a' }, 'group', 'undefined'],
    [{ ...ref, namespace: undefined }, 'namespace is missing', 'ConfigMap is a namespaced kind'],
    [{ group: '', kind: 'Namespace', namespace: 'default', name: 'a' }, 'cluster-scoped', '"default"'],
    ['a', 'an object', '"a"'],
  ])('references: %j', async (given, ...parts) => {
    await expectUsage(() => cache.waitFor(given as never, 'gone'), parts);
    await expectUsage(() => cache.read([given as never]), ['objects[0]', ...parts]);
  });

  it('waitFor takes no object, and names its options', async () => {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'default' } };
    await expectUsage(() => cache.waitFor(object as never, 'gone'), ['ref.group', 'undefined']);
    await expectUsage(() => cache.waitFor(ref, 'gone', { timeoutMs: 5 } as never), ['"timeoutMs"', 'deadlineMs']);
    await expectUsage(() => cache.read(ref as never), ['objects', 'a list', 'an object']);
    await expectUsage(() => cache.read([{ ...object, metadata: {} }]), ['objects[0].metadata.name']);
    await expectUsage(
      () =>
        cache
          .iterateTree(['a'] as never)
          [Symbol.asyncIterator]()
          .next(),
      ['roots[0]'],
    );
    await expectUsage(() => cache.apiMetadata('ConfigMap' as never), ['kind', 'an object', '"ConfigMap"']);
    await expectUsage(() => cache.openApi(1 as never), ['apiVersion', 'a text', '1']);
    await expectUsage(() => cache.invalidate({ resyncMs: 1 } as never), ['"resyncMs"', 'include, exclude']);
  });

  const env = {};
  it.each<Case>([
    [{}, 'options.env', 'an object', 'undefined'],
    [{ env, limits: { maxObject: 1 } }, '"maxObject"', 'maxObjects'],
    [{ env, limits: { maxObjects: '1' } }, 'options.limits.maxObjects', 'a whole number', '"1"'],
    [{ env, limits: { deniedNetworks: 'metadata' } }, 'options.limits.deniedNetworks', 'a list'],
    [{ env, allowLocal: 'no' }, 'options.allowLocal', 'true or false'],
    [undefined, 'options', 'undefined'],
  ])('openRenderer(%j)', (given, ...parts) => expectUsage(() => openRenderer(given as never), parts));

  it.each<Case>([
    [{ port: 'x' }, 'options.port', 'from 0 to 65,535', '"x"'],
    [{ workload: {} }, '"workload"', 'workloads'],
    [{ workloads: { enabled: true } }, 'options.workloads.delayMs'],
    [{ crds: {} }, 'options.crds', 'a list'],
  ])('startCluster(%j)', (given, ...parts) => expectUsage(() => startCluster(given as never), parts));

  it.each<Case>([
    [{ documents: {}, name: 'a', members }, 'options.documents.read', 'a function', 'undefined'],
    [{ documents, name: 5, members }, 'options.name', '5'],
    [{ documents, name: 'a' }, 'options.members', 'undefined'],
    [{ documents, name: 'a', members, heartbeat: 1 }, '"heartbeat"', 'heartbeatMs'],
    [undefined, 'options', 'undefined'],
  ])('joinFleet(%j)', (given, ...parts) => expectUsage(() => joinFleet(given as never), parts));

  const clusters = [{ id: 'a', server: 'https://a' }];
  const weights = new Map<string, number>();
  it.each<Case>([
    [['legacy', clusters, weights, 0], 'inputs.replicas', 'from 1', '0'],
    [['legacy', clusters, {}, 1], 'inputs.weights', 'a Map'],
    [['legacy', ['a'], weights, 1], 'inputs.clusters[0]', '"a"'],
    [['modulo', clusters, weights, 1], 'inputs.algorithm', 'round-robin', '"modulo"'],
  ])('distribute and rebalance: %j', async (given, ...parts) => {
    const [algorithm, list, map, replicas] = given as readonly unknown[];
    await expectUsage(() => untyped(distribute)(algorithm, list, map, replicas), parts);
    const inputs = { algorithm, clusters: list, weights: map, replicas };
    await expectUsage(() => untyped(rebalance)(undefined, inputs, 0), parts);
  });

  it('the other functions', async () => {
    await expectUsage(() => untyped(legacyShard)(5, 1), ['a text', '5']);
    await expectUsage(() => untyped(shardOfText)('a', 0), ['replicas', '0']);
    await expectUsage(() => untyped(worstHealth)(['nope']), ['codes[0]', 'Degraded', '"nope"']);
    await expectUsage(() => untyped(worstHealth)('Healthy'), ['codes', 'a list']);
    await expectUsage(() => untyped(healthScripts)('x'), ['scripts', 'an object', '"x"']);
    await expectUsage(() => untyped(healthScripts)({ Pod: 5 }), ['scripts["Pod"]', 'a text', '5']);
    await expectUsage(() => untyped(healthOf)({}, 5), ['settings', 'an object', '5']);
    const member = joinFleet({ documents, name: 'a', members });
    await expectUsage(() => untyped(member.setItems.bind(member))('abc'), ['items', 'string']);
    await expectUsage(() => untyped(member.setItems.bind(member))([1]), ['items[0]', '1']);
    await expectUsage(() => untyped(member.onChange.bind(member))({}), ['listener', 'a function']);
    await member.leave();
  });
});

describe('health of what is no object', () => {
  const hostile = Object.defineProperty({}, 'apiVersion', {
    get: () => {
      throw new Error('no access');
    },
  });
  it.each([undefined, null, 5, [], {}, { apiVersion: 'v1', kind: 'Pod' }, hostile])('is Unknown: %p', (object) => {
    expect(healthOf(object as never)).toEqual({ status: 'Unknown', message: expect.stringMatching(/object/) });
  });

  it('accepts any iterable of codes', () => {
    expect(worstHealth(new Set(['Healthy', 'Degraded'] as const))).toBe('Degraded');
    expect(worstHealth([])).toBe('Healthy');
  });
});
