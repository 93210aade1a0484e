import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { FaultRule } from '#sim';
import type { Application } from '#model';
import { config, synced } from './objects.ts';
import { World } from './world.ts';
import type { GitFixture } from './world.ts';

let world: World;
let repo: GitFixture;
/** `namespace/name` of all objects that were deleted. */
let deleted: string[];

beforeEach(async () => {
  world = await World.start();
  world.limits = { deadlineMs: 3000 };
  // The faults fill it with errors.
  world.log = [];
  repo = world.repository('sample');
  deleted = [];
  world.cluster.store.subscribe(({ type, object: { kind, metadata } }) => {
    if (type === 'DELETED' && kind === 'ConfigMap') deleted.push(`${metadata.namespace ?? ''}/${metadata.name ?? ''}`);
  });
});
afterEach(() => world.close());

type Fault = FaultRule['fault'];
const status = (code: 429 | 500 | 503, retryAfterSeconds?: number): Fault => ({
  kind: 'status',
  code,
  ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
});
const faults: Readonly<Record<string, Fault>> = {
  'is reset before it acts': { kind: 'reset' },
  'is reset after it has acted': { kind: 'lostAnswer' },
  'ends in the middle of its answer': { kind: 'halfAnswer' },
  'never answers': { kind: 'hang' },
  'answers 429 with Retry-After': status(429, 1),
  'answers 500': status(500),
  'answers 503 with Retry-After': status(503, 1),
};
/** How objects are applied, and the requests of a removal. */
const steps: Readonly<Record<string, readonly string[]>> = {
  client: ['patch', 'delete', 'status'],
  server: ['patch', 'delete', 'status'],
  replace: ['get', 'update', 'delete', 'status'],
};
const options: Readonly<Record<string, readonly string[]>> = {
  client: [],
  server: ['ServerSideApply=true'],
  replace: ['Replace=true'],
};

interface BrokenCase {
  readonly name: string;
  readonly method: string;
  readonly step: string;
  readonly what: string;
}
const cases = Object.entries(steps).flatMap(([method, names]) =>
  names.flatMap((step) => Object.keys(faults).map((what) => ({ method, step, what }))),
);
const named: readonly BrokenCase[] = cases.map((one, i) => ({ ...one, name: `case-${i}` }));

const withTwo = `${config('kept')}  dropped: "1"\n`;

/** Creates the Applications, each in a namespace of its own with an object of others. */
async function start(all: readonly BrokenCase[]): Promise<void> {
  const files = all.flatMap(({ name }) => [
    [`${name}/kept.yaml`, withTwo],
    [`${name}/gone.yaml`, config('gone')],
  ]);
  repo.commit(Object.fromEntries(files) as Record<string, string>);
  for (const { name, method } of all) {
    world.cluster.store.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    const theirs = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'theirs', namespace: name } };
    world.cluster.store.create({ ...theirs, data: { key: 'theirs' } });
    world.application(name, {
      ...repo.source({ path: name }),
      destination: { server: world.cluster.url, namespace: name },
      syncPolicy: {
        automated: { prune: true, selfHeal: true },
        syncOptions: options[method],
        retry: { limit: 10, backoff: { duration: '1s', factor: 1 } },
      },
    });
  }
  await world.replica();
  for (const { name } of all) await world.until(name, synced);
}

function drop(all: readonly BrokenCase[]): string {
  const files = all.flatMap(({ name }) => [
    [`${name}/kept.yaml`, config('kept')],
    [`${name}/gone.yaml`, null],
  ]);
  return repo.commit(Object.fromEntries(files) as Record<string, string | null>);
}

/** Objects and fields that Git has dropped and the cluster still has. */
function leftIn(name: string): readonly string[] {
  const kept = world.cluster.store.get('', 'ConfigMap', name, 'kept');
  const gone = world.cluster.store.get('', 'ConfigMap', name, 'gone');
  const data = Object.keys((kept?.['data'] ?? {}) as object).filter((key) => key === 'dropped');
  return [...(kept === undefined ? ['kept is missing'] : data), ...(gone === undefined ? [] : ['gone'])];
}

/** Collects each status that says Synced while something is left. */
function watchStatuses(revision: string): string[] {
  const wrong: string[] = [];
  world.hub.store.subscribe(({ object }) => {
    if (object.kind !== 'Application') return;
    const { sync } = (object as unknown as Application).status ?? {};
    const left = leftIn(object.metadata.name ?? '');
    if (sync?.status === 'Synced' && sync.revision === revision && left.length > 0)
      wrong.push(`${object.metadata.name ?? ''}: ${left.join()}`);
  });
  return wrong;
}

/** Collects the steps that were tried, with the names of their Applications. */
function watchRequests(): ReadonlySet<string> {
  const hit = new Set<string>();
  world.cluster.onRequest(({ verb, resource, namespace, name, dryRun }) => {
    if (resource === 'configmaps' && name === (verb === 'delete' ? 'gone' : 'kept') && !dryRun)
      hit.add(`${verb} ${namespace}`);
  });
  world.hub.onRequest(({ verb, resource, name, agent }) => {
    if (verb === 'patch' && resource === 'applications' && agent.includes('test')) hit.add(`status ${name}`);
  });
  return hit;
}

async function settled(all: readonly BrokenCase[], revision: string): Promise<void> {
  for (const { name, method, step, what } of all) {
    await world.until(name, (app) => {
      const which = `${method}, ${step} ${what}`;
      expect([which, app.status?.sync?.revision, leftIn(name)]).toEqual([which, revision, []]);
      synced(app);
    });
  }
}

function expectUnharmed(all: readonly BrokenCase[]): void {
  expect([...new Set(deleted)].sort()).toEqual(all.map(({ name }) => `${name}/gone`).sort());
  for (const { name } of all)
    expect(world.cluster.store.get('', 'ConfigMap', name, 'theirs')).toMatchObject({ data: { key: 'theirs' } });
}

describe('a removal over a broken network', () => {
  it(`is complete before it is shown, and removes nothing else: ${named.length} variants`, async () => {
    await start(named);
    for (const { name, step, what } of named) {
      const fault = faults[what]!;
      const of = { times: fault.kind === 'hang' ? 1 : 2, fault };
      if (step === 'status') world.hub.addFault({ verb: 'patch', resource: 'applications', name, ...of });
      else world.cluster.addFault({ verb: step, namespace: name, name: step === 'delete' ? 'gone' : 'kept', ...of });
    }
    const hit = watchRequests();
    const revision = drop(named);
    const wrong = watchStatuses(revision);
    for (const { name } of named) world.refresh(name);
    await settled(named, revision);
    expect(wrong).toEqual([]);
    expectUnharmed(named);
    expect(named.filter(({ name, step }) => !hit.has(`${step} ${name}`))).toEqual([]);
  }, 240_000);

  it.each<[string, FaultRule]>([
    ['end', { verb: 'watch', times: 6, fault: { kind: 'cutWatch', afterEvents: 1 } }],
    ['expire', { verb: 'watch', times: 6, fault: { kind: 'cutWatch', afterEvents: 1, code: 410 } }],
    ['fail', { verb: 'watch', times: 6, fault: { kind: 'cutWatch', afterEvents: 0, code: 500 } }],
    ['cannot be read', { verb: 'watch', times: 6, fault: { kind: 'badLine' } }],
  ])(
    'is complete before it is shown while watches %s',
    async (what, rule) => {
      const all = Object.keys(steps).map((method) => ({ name: `watch-${method}`, method, step: 'watch', what }));
      await start(all);
      world.cluster.addFault({ ...rule, resource: 'configmaps' });
      const revision = drop(all);
      const wrong = watchStatuses(revision);
      for (const { name } of all) world.refresh(name);
      await settled(all, revision);
      expect(wrong).toEqual([]);
      expectUnharmed(all);
    },
    120_000,
  );
});
