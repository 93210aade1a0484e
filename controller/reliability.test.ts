import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DeadlineExceeded, DriftlessError } from '#base';
import { KubeConnectionError } from '#kube';
import type { ApplicationSpec, KubeObject } from '#model';
import { defaultSettings } from '#model';
import { FakeClock } from '#support';
import { PromMetrics } from '#telemetry';
import { automated, configMap, FakeWorld, server } from './testing/fake-world.ts';

/** Promises of docs/acceptance.md that hold for the controller as a whole: over servers and Git in memory, in virtual time. */
const [first, second, third, fourth] = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(40)) as [
  string,
  string,
  string,
  string,
];
const cascade = 'resources-finalizer.argocd.argoproj.io';
const hook = (types: string): Record<string, string> => ({ 'argocd.argoproj.io/hook': types });
const wave = (n: number): Record<string, string> => ({ 'argocd.argoproj.io/sync-wave': String(n) });
const at = (targetRevision: string): Partial<ApplicationSpec> => ({
  source: { repoURL: 'https://git/x', path: 'p', targetRevision },
});

let clock: FakeClock;
let world: FakeWorld;
let worlds: FakeWorld[];

beforeEach(() => {
  clock = new FakeClock();
  world = new FakeWorld(clock);
  worlds = [world];
});
afterEach(async () => {
  for (const one of worlds) await one.close(clock);
  expect(clock.pending).toBe(0);
});

async function start(options: Parameters<FakeWorld['replica']>[0] = {}): Promise<void> {
  world.replica(options);
  await clock.advance(2000);
}

const names = (): readonly string[] =>
  [...world.dest.objects.values()].map(({ metadata }) => metadata.name ?? '').sort();
const deletions = (): readonly string[] => world.dest.calls.filter((call) => call.startsWith('delete'));
const writes = (): number => world.writes().length;

/** Where it points to in Git now. */
function point(name: string, targetRevision: string): void {
  world.edit((object) => ({ spec: { ...(object['spec'] as object), ...at(targetRevision) } }), name);
}

function setDeleting(finalizers: readonly string[], name = 'demo'): void {
  world.edit((object) => ({ metadata: { ...object.metadata, finalizers } }), name);
  world.hub.delete('Application', name);
}

function drift(value: string): void {
  const live = world.dest.get('ConfigMap', 'one');
  if (live === undefined) throw new Error('nothing is there');
  world.dest.put({ ...live, data: { key: value } });
}

describe('T-STAT-1: an Application of 5,000 resources', () => {
  const results = Array.from({ length: 5000 }, (_, i) => ({
    group: 'apps',
    version: 'v1',
    kind: 'Deployment',
    namespace: 'apps',
    name: `a-name-as-long-as-people-make-them-${i}`,
    status: 'Synced',
    hookPhase: 'Succeeded',
    syncPhase: 'Sync',
    message: `deployment.apps/a-name-as-long-as-people-make-them-${i} created`,
    images: ['registry.example.com/a-team/a-service:v1.2.3', 'registry.example.com/a-team/a-sidecar:v1.2.3'],
  }));
  const bytes = (): number => JSON.stringify(world.app.status).length;

  /** In its last step: all but one of its resources are applied. */
  function running(phase: string): void {
    const operation = { sync: { revision: first }, initiatedBy: {}, retry: {} };
    const source = { repoURL: 'https://git/x', path: 'p', targetRevision: 'main' };
    const syncResult = { revision: first, source, resources: results };
    const operationState = { operation, phase, startedAt: '1970-01-01T00:00:00Z', syncResult };
    world.application();
    world.edit(() => ({ operation: { sync: { revision: first } }, status: { operationState } }));
    world.hub.limit = 1.5 * 1024 * 1024;
  }

  it('T-STAT-1: the operation ends and is recorded, and the status is smaller than 1 MiB', async () => {
    world.git.push(first, [configMap('one')]);
    running('Running');
    expect(bytes()).toBeGreaterThan(1.5 * 1024 * 1024);
    await start();
    expect(world.app.status?.operationState?.phase).toBe('Succeeded');
    expect(world.app.operation).toBeUndefined();
    expect(world.app.status?.history).toHaveLength(1);
    expect(world.app.status?.sync?.status).toBe('Synced');
    expect(bytes()).toBeLessThan(1024 * 1024);
    expect(world.app.status?.operationState?.syncResult?.resources).toHaveLength(5001);
  });

  it('T-STAT-1: the operation ends with an Error that says so, when it cannot even remember what it has done', async () => {
    const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'slow', annotations: wave(0) }, spec: {} };
    world.git.push(first, [job, configMap('one', '1', wave(1))]);
    running('Running');
    world.hub.limit = 300_000;
    await start();
    expect(world.app.status?.operationState).toMatchObject({
      phase: 'Error',
      message: expect.stringContaining('(5001 resources) is too big to be stored with the Application'),
    });
    expect(world.app.operation).toBeUndefined();
  });

  it('T-STAT-1: reasons that are too long are cut, and the condition says that the status is too big where even that does not help', async () => {
    world.git.push(
      first,
      Array.from({ length: 60 }, (_, i) => configMap(`c${i}`)),
    );
    world.hub.limit = 1.5 * 1024 * 1024;
    world.application({}, { operation: { sync: {} } });
    const refuse = (call: string): void => {
      if (call.startsWith('create')) throw new DriftlessError('X', `${call} ${'x'.repeat(30_000)}`);
    };
    await start({ dest: { before: refuse } });
    expect(world.app.status?.operationState?.phase).toBe('Failed');
    expect(world.app.status?.operationState?.syncResult?.resources).toHaveLength(60);
    expect(bytes()).toBeLessThan(1024 * 1024);
    // Somebody else's field takes the room: the refresh says so, once, instead of trying for ever.
    world.edit((object) => ({ status: { ...(object['status'] as object), note: 'n'.repeat(1_400_000) } }));
    world.hub.limit = 1_450_000;
    world.git.push(
      second,
      Array.from({ length: 1000 }, (_, i) => configMap(`c${i}`)),
    );
    await clock.advance(125_000);
    expect(world.app.status?.conditions).toEqual([
      expect.objectContaining({ type: 'UnknownError', message: expect.stringContaining('exceeds the Kubernetes') }),
    ]);
  });
});

describe('T-PRUNE-2: nothing is pruned', () => {
  const sources = (one: string, two: string): Partial<ApplicationSpec> => ({
    sources: [
      { repoURL: 'https://git/one', path: 'p', targetRevision: one },
      { repoURL: 'https://git/two', path: 'p', targetRevision: two },
    ],
  });
  const [away, late] = [
    new DriftlessError('X', 'repository is away'),
    new DeadlineExceeded('asking https://git', 60_000),
  ];
  const failing: readonly [string, (git: FakeWorld['git']) => void][] = [
    ['by an error of all sources', (git) => (git.failure = away)],
    ['by a source that takes too long', (git) => (git.failure = late)],
    [
      'when one of two sources fails',
      (git) => {
        git.failure = away;
        git.fails = ({ repoURL }) => repoURL.endsWith('two');
      },
    ],
    [
      'when one of two sources takes too long',
      (git) => {
        git.failure = late;
        git.fails = ({ repoURL }) => repoURL.endsWith('one');
      },
    ],
    ['when one of two sources has a problem with its signature', (git) => git.problems.set(second, ['unsigned'])],
  ];

  it.each(failing)('T-PRUNE-2: %s: not by itself, and not by an operation that prunes', async (_, fail) => {
    world.project('default', { signatureKeys: [{ keyID: '0123456789ABCDEF' }] });
    world.git.push(first, [configMap('one')]);
    world.git.push(second, [configMap('two')]);
    world.git.push(third, []);
    world.application({ ...sources(first, second), ...automated });
    await start();
    expect(names()).toEqual(['one', 'two']);
    fail(world.git);
    world.annotate({ 'argocd.argoproj.io/refresh': 'hard' });
    await clock.advance(1_200_000);
    expect(world.app.status?.conditions).toContainEqual(expect.objectContaining({ type: 'ComparisonError' }));
    world.edit(() => ({ operation: { sync: { prune: true } } }));
    await clock.advance(60_000);
    expect(world.app.status?.operationState?.phase).toBe('Error');
    expect([names(), deletions()]).toEqual([['one', 'two'], []]);
    // And what was really removed goes, once the source can be read.
    world.git.failure = undefined;
    world.git.problems.clear();
    world.edit((object) => ({ spec: { ...(object['spec'] as object), ...sources(first, third) } }));
    await clock.advance(60_000);
    expect(names()).toEqual(['one']);
  });
});

describe('T-PRUNE-3: two Applications that have the same Namespace', () => {
  const shared = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shared' } };

  /** Both have it in Git; the tracking names `demo`. */
  async function both(policy: object = automated): Promise<void> {
    world.git.push(first, [shared, configMap('one')]);
    world.git.push(second, [configMap('one', '2')]);
    world.git.push(third, [shared, configMap('two')]);
    world.git.push(fourth, [configMap('two')]);
    world.application({ ...at(first), ...policy });
    await start();
    world.application(at(third), { metadata: { name: 'other', namespace: 'argocd' } });
    await clock.advance(2000);
    expect(world.applicationOf('other').status?.resources?.map(({ name }) => name)).toEqual(['two', 'shared']);
  }

  const policies = [automated, { syncPolicy: { automated: { prune: true } } }];
  it.each(policies)(
    'T-PRUNE-3: it stays when one of them lets go of it, and goes with the last one: %j',
    async (policy) => {
      await both(policy);
      point('demo', second);
      await clock.advance(600_000);
      expect(names()).toEqual(['one', 'shared']);
      const state = world.app.status?.operationState;
      expect(state).toMatchObject({ phase: 'Succeeded', syncResult: { revision: second } });
      expect(state?.syncResult?.resources?.find(({ name }) => name === 'shared')).toMatchObject({
        status: 'PruneSkipped',
        message: 'ignored (application argocd/other has it, too)',
      });
      const before = writes();
      await clock.advance(1_200_000);
      expect([writes() - before, world.app.status?.operationState?.startedAt]).toEqual([0, state?.startedAt]);
      point('other', fourth);
      await clock.advance(600_000);
      expect(names()).toEqual(['one']);
      expect(world.app.status?.sync?.status).toBe('Synced');
    },
  );

  it('T-PRUNE-3: a person who prunes is told the same', async () => {
    await both();
    point('demo', second);
    await clock.advance(2000);
    world.edit(() => ({ operation: { sync: { prune: true } } }));
    await clock.advance(5000);
    expect(world.app.status?.operationState?.phase).toBe('Succeeded');
    expect([names(), deletions()]).toEqual([['one', 'shared'], []]);
  });

  it('T-PRUNE-3: it stays when one of them is deleted with all that it has', async () => {
    await both();
    setDeleting([cascade]);
    await clock.advance(30_000);
    expect(world.hub.get('Application', 'demo')).toBeUndefined();
    expect(names()).toEqual(['shared']);
  });

  it.each<[string, Partial<ApplicationSpec>, () => void]>([
    ['goes to another cluster', { destination: { server: 'https://elsewhere', namespace: 'apps' } }, () => undefined],
    [
      'may not have it by its project',
      { project: 'small' },
      () => world.project('small', { clusterResourceWhitelist: [] }),
    ],
    ['has no project', { project: 'none' }, () => undefined],
  ])('T-PRUNE-3: one that names it and %s keeps nothing', async (_name, over, prepare) => {
    prepare();
    await both();
    // As somebody would write it who may write Applications: its status still names the object.
    world.edit((object) => ({ spec: { ...(object['spec'] as object), ...over } }), 'other');
    point('demo', second);
    await clock.advance(2000);
    expect(names()).toEqual(['one']);
  });
});

describe('T-PRUNE-4: two installations on one cluster', () => {
  /** Another hub, with its own Git and its own controller, that manages the same cluster. */
  function installation(id: string, objects: readonly KubeObject[]): FakeWorld {
    const one =
      worlds.length === 1 && world.settings.tracking.installationId === '' ? world : new FakeWorld(clock, world.dest);
    if (one !== world) worlds.push(one);
    one.settings = { ...defaultSettings, tracking: { ...defaultSettings.tracking, installationId: id } };
    one.git.push(first, objects);
    one.application(automated, { metadata: { name: 'demo', namespace: 'argocd' } });
    return one;
  }

  it('T-PRUNE-4: with Applications of the same name: neither prunes nor deletes what is of the other', async () => {
    const blue = installation('blue', [configMap('one'), configMap('two')]);
    const green = installation('green', [configMap('three'), configMap('four')]);
    blue.replica();
    green.replica();
    await clock.advance(600_000);
    expect(names()).toEqual(['four', 'one', 'three', 'two']);
    expect([blue, green].map(({ app }) => app.status?.resources?.map(({ name }) => name))).toEqual([
      ['one', 'two'],
      ['four', 'three'],
    ]);
    green.git.push(second, [configMap('three')]);
    await clock.advance(300_000);
    expect(names()).toEqual(['one', 'three', 'two']);
    blue.edit((object) => ({ metadata: { ...object.metadata, finalizers: [cascade] } }));
    blue.hub.delete('Application', 'demo');
    await clock.advance(60_000);
    expect(blue.hub.get('Application', 'demo')).toBeUndefined();
    expect(names()).toEqual(['three']);
  });
});

describe('a deletion', () => {
  const all = [
    cascade,
    'pre-delete-finalizer.argocd.argoproj.io',
    'pre-delete-finalizer.argocd.argoproj.io/cleanup',
    'post-delete-finalizer.argocd.argoproj.io',
    'post-delete-finalizer.argocd.argoproj.io/cleanup',
  ];
  const deletionErrors = (): readonly string[] =>
    (world.app.status?.conditions ?? []).filter(({ type }) => type === 'DeletionError').map(({ message }) => message);

  beforeEach(() => world.git.push(first, [configMap('one')]));

  it.each([[all], [[cascade]], [all.slice(3)], [all.slice(4)]])(
    'T-DEL-1: ends without the Secret of its cluster, with the finalizers %j, and says that the resources stay',
    async (finalizers) => {
      world.application(automated);
      await start();
      world.known = false;
      setDeleting(finalizers);
      await clock.advance(10_000);
      expect(world.hub.get('Application', 'demo')).toBeUndefined();
      expect(names()).toEqual(['one']);
      const events = [...world.hub.objects.values()].filter(({ kind }) => kind === 'Event');
      expect(events.map((event) => event['message'])).toContain(
        'The destination cluster cannot be resolved: the application is deleted and its resources are left behind',
      );
    },
  );

  const refused = (): never => {
    throw new KubeConnectionError(server, 'connection refused', new Error('ECONNREFUSED'));
  };
  it.each<[string, string, () => void, () => void]>([
    [
      'that refuses all connections',
      'cannot reach https://dest: connection refused',
      () => (answers = false),
      () => (answers = true),
    ],
    [
      'that has never answered',
      'failed to sync cluster https://dest: failed to get server version: refused',
      () => (world.dest.unreachable = 'failed to get server version: refused'),
      () => (world.dest.unreachable = undefined),
    ],
    [
      'whose cache is never filled',
      'waiting for the cache of cluster https://dest to fill for more than five minutes',
      () => (world.ready = false),
      () => (world.ready = true),
    ],
  ])(
    'T-DEL-2: on a cluster %s says so once, and what a person may do, and goes on when it answers',
    async (_name, why, leave, comeBack) => {
      answers = true;
      world.application(automated);
      await start({ dest: { before: () => (answers ? undefined : refused()) } });
      expect(names()).toEqual(['one']);
      leave();
      setDeleting([cascade]);
      const before = writes();
      await clock.advance(900_000);
      expect(deletionErrors()).toEqual([expect.stringContaining(why)]);
      expect(deletionErrors()[0]).toContain(
        'Without its finalizers the Application goes at once, and what is left stays.',
      );
      expect(writes() - before).toBeLessThanOrEqual(3);
      comeBack();
      await clock.advance(60_000);
      expect(world.hub.get('Application', 'demo')).toBeUndefined();
      expect(names()).toEqual([]);
    },
  );
  let answers = true;

  it('T-DEL-2: on a cluster that never answers ends when a person takes the finalizers away', async () => {
    answers = true;
    world.application(automated);
    await start({ dest: { before: () => (answers ? undefined : refused()) } });
    answers = false;
    setDeleting([cascade]);
    await clock.advance(60_000);
    world.edit((object) => ({ metadata: { ...object.metadata, finalizers: [] } }));
    await clock.advance(60_000);
    expect(world.hub.get('Application', 'demo')).toBeUndefined();
    expect(names()).toEqual(['one']);
  });

  it('T-DEL-3: with a hook afterwards that does not end names it, and goes on when it has ended', async () => {
    const job = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'farewell', annotations: hook('PostDelete') },
      spec: {},
    };
    world.git.push(first, [configMap('one'), job]);
    world.application(automated, { metadata: { name: 'demo', namespace: 'argocd', finalizers: [cascade] } });
    const { controller } = world.replica();
    await clock.advance(2000);
    world.hub.delete('Application', 'demo');
    await clock.advance(120_000);
    const what = 'waiting for the end of PostDelete hook(s) Job apps/farewell';
    // A hook may take its time; whoever asks what it waits for is told at once.
    expect(deletionErrors()).toEqual([]);
    expect(controller.snapshot().applications[0]?.waiting).toMatchObject({ what });
    await clock.advance(900_000);
    expect(deletionErrors()).toEqual([expect.stringContaining(`${what} for more than five minutes. `)]);
    expect(names()).toEqual(['farewell']);
    const done = { conditions: [{ type: 'Complete', status: 'True' }], succeeded: 1 };
    world.dest.put({ ...world.dest.get('Job', 'farewell')!, status: done });
    await clock.advance(30_000);
    expect(world.hub.get('Application', 'demo')).toBeUndefined();
  });

  it('T-DEL-3: an object with a finalizer of somebody else is named with it', async () => {
    world.application(automated);
    await start();
    const live = world.dest.get('ConfigMap', 'one')!;
    world.dest.put({ ...live, metadata: { ...live.metadata, finalizers: ['example.com/slow'] } });
    setDeleting([cascade]);
    await clock.advance(400_000);
    expect(deletionErrors()).toEqual([
      expect.stringContaining('waiting for the deletion of ConfigMap apps/one (finalizers: example.com/slow) for more'),
    ]);
  });

  it('T-DEL-3: a hook that is of several types runs at each', async () => {
    world.git.push(first, [configMap('one'), configMap('both', '1', hook('PreDelete,PostDelete'))]);
    world.application(automated, { metadata: { name: 'demo', namespace: 'argocd', finalizers: [cascade] } });
    await start();
    world.hub.delete('Application', 'demo');
    await clock.advance(60_000);
    expect(world.hub.get('Application', 'demo')).toBeUndefined();
    const order = world.dest.calls.filter((call) => /^(?:create ConfigMap both|delete ConfigMap one)$/.test(call));
    expect(order).toEqual(['create ConfigMap both', 'delete ConfigMap one', 'create ConfigMap both']);
  });
});

describe('a drift', () => {
  const attempts = (): number | undefined => world.app.status?.operationState?.operation.sync?.autoHealAttemptsCount;
  const healed = (): boolean => (world.dest.get('ConfigMap', 'one')?.['data'] as { key?: string }).key === '1';

  /** Somebody writes against us until the next attempt waits for 54 seconds. */
  async function fight(): Promise<void> {
    world.git.push(first, [configMap('one')]);
    world.application(automated);
    await start();
    for (let turn = 0; turn < 5; turn += 1) {
      drift(`theirs ${turn}`);
      await clock.advance(60_000);
    }
    expect([attempts(), healed()]).toEqual([5, true]);
    drift('theirs again');
    await clock.advance(20_000);
    expect(healed()).toBe(false);
  }

  it('T-HEAL-3: that comes after a success that has lasted is healed at once, as the first one', async () => {
    await fight();
    await clock.advance(200_000);
    expect([attempts(), healed()]).toEqual([6, true]);
    // No drift for longer than the longest delay.
    await clock.advance(310_000);
    drift('much later');
    await clock.advance(2000);
    expect([attempts(), healed()]).toEqual([1, true]);
  });

  it('T-HEAL-3: that comes after the sync of a new commit is healed at once', async () => {
    await fight();
    world.git.push(second, [configMap('one', '1'), configMap('two')]);
    await clock.advance(125_000);
    expect(world.app.status?.operationState?.syncResult?.revision).toBe(second);
    drift('new');
    await clock.advance(2000);
    expect([attempts(), healed()]).toEqual([1, true]);
  });

  it('T-HEAL-4: a commit that arrives during the backoff does not wait for it', async () => {
    await fight();
    world.git.push(second, [configMap('one', 'mended')]);
    world.annotate({ 'argocd.argoproj.io/refresh': 'normal' });
    await clock.advance(2000);
    expect(world.app.status?.sync).toMatchObject({ status: 'Synced', revision: second });
    expect(world.dest.get('ConfigMap', 'one')).toMatchObject({ data: { key: 'mended' } });
  });
});

describe('T-HEAL-4: a commit that mends what a sync cannot do', () => {
  it('T-HEAL-4: is taken by the next retry, when it arrives while that is waited for', async () => {
    world.git.push(first, [configMap('bad')]);
    world.application(automated);
    const refuse = (call: string): void => {
      if (call === 'create ConfigMap bad') throw new DriftlessError('X', 'bad');
    };
    await start({ dest: { before: refuse } });
    expect(world.app.status?.operationState).toMatchObject({ phase: 'Running', retryCount: 1 });
    world.git.push(second, [configMap('good')]);
    await clock.advance(6000);
    expect(world.app.status?.operationState).toMatchObject({ phase: 'Succeeded', syncResult: { revision: second } });
    expect(names()).toEqual(['good']);
  });

  it.each(['one', 'two'])(
    'T-HEAL-4: is synced after the sync that runs, when it arrives while %s is applied',
    async (name) => {
      world.git.push(first, [configMap('one', '1', wave(0)), configMap('two', '1', wave(1))]);
      world.application(automated);
      const push = (call: string): void => {
        if (call !== `create ConfigMap ${name}`) return;
        world.git.push(second, [configMap('one', '2', wave(0)), configMap('two', '2', wave(1))]);
        world.annotate({ 'argocd.argoproj.io/refresh': 'normal' });
      };
      await start({ dest: { after: push } });
      await clock.advance(5000);
      expect(world.app.status?.sync).toMatchObject({ status: 'Synced', revision: second });
      expect(world.app.status?.history?.map(({ revision }) => revision)).toEqual([first, second]);
    },
  );
});

describe('T-Q-2: refresh and operation of one Application', () => {
  it('T-Q-2: never write at the same time, and both write', async () => {
    world.git.push(
      first,
      Array.from({ length: 4 }, (_, i) => configMap(`c${i}`, '1', wave(i))),
    );
    world.application(automated);
    let under = 0;
    let most = 0;
    const kinds = new Set<string>();
    const isWrite = (call: string): boolean => /^(?:patch|replace) Application/.test(call);
    const before = async (call: string): Promise<void> => {
      if (!isWrite(call)) return;
      under += 1;
      most = Math.max(most, under);
      kinds.add(world.app.operation === undefined ? 'at rest' : 'in an operation');
      await clock.sleep(300, new AbortController().signal);
      under -= 1;
    };
    world.replica({ hub: { before } });
    // Each write takes 0.3 s; somebody asks for a refresh every 0.1 s meanwhile, and the cluster moves.
    for (let turn = 0; turn < 100; turn += 1) {
      world.annotate({ 'argocd.argoproj.io/refresh': turn % 2 === 0 ? 'normal' : 'hard' });
      await clock.advance(100);
    }
    await clock.advance(10_000);
    expect(world.app.status?.operationState?.phase).toBe('Succeeded');
    expect(world.app.status?.sync?.status).toBe('Synced');
    expect([most, under]).toEqual([1, 0]);
    expect(kinds).toEqual(new Set(['at rest', 'in an operation']));
  });
});

describe('T-CONC-1: more processors', () => {
  /** How long it takes to compare and sync all, when the API server works on `capacity` requests at a time and lets the others wait. */
  async function timeWith(processors: number, capacity: number): Promise<number> {
    const one = new FakeWorld(clock);
    worlds.push(one);
    one.git.push(first, [configMap('one')]);
    const all = Array.from({ length: 8 }, (_, i) => `app-${String(i)}`);
    for (const name of all)
      one.application(
        { ...automated, destination: { server, namespace: name } },
        { metadata: { name, namespace: 'argocd' } },
      );
    const queue: (() => void)[] = [];
    let free = capacity;
    const before = async (): Promise<void> => {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => void queue.push(resolve));
      await clock.sleep(50, new AbortController().signal);
      const next = queue.shift();
      if (next === undefined) free += 1;
      else next();
    };
    const begin = clock.now();
    const replica = one.replica({
      hub: { before: (call) => (call.includes(' Application ') ? before() : undefined) },
      config: { statusProcessors: processors, operationProcessors: processors },
    });
    const isDone = (name: string): boolean => one.applicationOf(name).status?.sync?.status === 'Synced';
    for (let turn = 0; turn < 600 && !all.every(isDone); turn += 1) await clock.advance(50);
    expect(all.filter((name) => !isDone(name))).toEqual([]);
    const took = clock.now() - begin;
    const ended = replica.stop();
    await clock.advance(2000);
    await ended;
    return took;
  }

  it.each([1, 100])(
    'T-CONC-1: never make it slower, on a server that works on %i requests at a time',
    async (capacity) => {
      const times: number[] = [];
      for (const processors of [1, 2, 4, 8]) times.push(await timeWith(processors, capacity));
      for (const [i, time] of times.entries())
        // Two requests of the server more or less: it is looked every 50 ms.
        expect(time).toBeLessThanOrEqual((times[i - 1] ?? Number.POSITIVE_INFINITY) + 100);
      if (capacity === 100) expect(times[3]).toBeLessThan((times[0] ?? 0) / 2);
    },
  );
});

describe('T-OBS-1: an incident leaves a metric, and an answer that names the culprit', () => {
  interface Incident {
    readonly what: string;
    readonly make: () => void;
    /** What a write to the cluster comes to. */
    readonly call?: (call: string) => void;
    readonly metric: RegExp;
    readonly answer: string;
  }
  const degraded = {
    group: '',
    kind: 'ConfigMap',
    version: 'v1',
    state: 'degraded',
    message: 'watch failed',
    objects: 2,
  } as const;
  const incidents: readonly Incident[] = [
    {
      what: 'a repository that cannot be read',
      make: () => (world.git.failure = new DriftlessError('X', 'https://git/x is away')),
      metric: /argocd_app_info\{.*name="demo".*sync_status="Unknown".*\} 1/,
      answer: 'https://git/x is away',
    },
    {
      what: 'a cluster that does not answer',
      make: () => (world.dest.unreachable = 'failed to get server version: refused'),
      metric: /argocd_app_info\{.*sync_status="Unknown".*\} 1/,
      answer: 'failed to sync cluster https://dest: failed to get server version: refused',
    },
    {
      what: 'a kind that cannot be watched',
      make: () => (world.degraded = [degraded]),
      metric: /argocd_app_info\{.*name="demo".*sync_status="(?:Unknown|OutOfSync|Synced)".*\} 1/,
      answer: 'The live state of /ConfigMap is not up to date, nothing of this kind is pruned: watch failed',
    },
    {
      what: 'an object that the cluster refuses',
      make: () => world.edit(() => ({ operation: { sync: {} } })),
      call: (call) => {
        if (call.endsWith('ConfigMap one')) throw new DriftlessError('X', 'quota exceeded');
      },
      metric: /argocd_app_sync_total\{.*name="demo".*phase="Failed".*\} 1/,
      answer: 'quota exceeded',
    },
    {
      what: 'a hook that does not end',
      make: () => {
        const annotations = hook('PreSync');
        world.git.push(second, [
          { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'long', annotations }, spec: {} },
        ]);
        world.edit(() => ({ operation: { sync: {} } }));
      },
      metric: /argocd_app_info\{.*name="demo".*operation="sync".*\} 1/,
      answer: 'waiting for completion of hook batch/Job/long',
    },
    {
      what: 'a deletion that somebody holds up',
      make: () => {
        const live = world.dest.get('ConfigMap', 'one')!;
        world.dest.put({ ...live, metadata: { ...live.metadata, finalizers: ['example.com/slow'] } });
        setDeleting([cascade]);
      },
      metric: /argocd_app_info\{.*name="demo".*operation="delete".*\} 1/,
      answer: 'waiting for the deletion of ConfigMap apps/one (finalizers: example.com/slow)',
    },
  ];

  it.each(incidents)('T-OBS-1: $what', async ({ make, call, metric, answer }) => {
    let isOn = false;
    const metrics = new PromMetrics();
    world.git.push(first, [configMap('one')]);
    world.application();
    world.edit(() => ({ operation: { sync: {} } }));
    const { controller } = world.replica({ metrics, dest: { before: (text) => (isOn ? call?.(text) : undefined) } });
    await clock.advance(5000);
    expect(JSON.stringify(controller.snapshot().applications)).not.toContain(answer);
    isOn = true;
    make();
    drift('theirs');
    await clock.advance(1_200_000);
    const [app] = controller.snapshot().applications;
    expect(JSON.stringify(app)).toContain(JSON.stringify(answer).slice(1, -1));
    expect(await metrics.expose()).toMatch(metric);
    expect(app?.lastRefresh?.reason).toMatch(/./);
  });
});

describe('T-OBS-2: an Application that has not been compared for three resyncs', () => {
  const resyncs = 3 * 120_000;

  it('T-OBS-2: is a metric, by cluster, until it is compared again; one at rest is none', async () => {
    const metrics = new PromMetrics();
    world.git.push(first, [configMap('one')]);
    world.application(automated);
    await start({ metrics });
    const overdue = async (): Promise<string | undefined> =>
      /^driftless_applications_overdue\{dest_server="https:\/\/dest"\} (.*)$/m.exec(await metrics.expose())?.[1];
    // At rest nothing is written: that the status is old says nothing.
    await clock.advance(4 * resyncs);
    expect(await overdue()).toBe('0');
    world.ready = false;
    await clock.advance(resyncs - 120_000);
    expect(await overdue()).toBe('0');
    await clock.advance(150_000);
    expect(await overdue()).toBe('1');
    world.ready = true;
    await clock.advance(60_000);
    expect(await overdue()).toBe('0');
  });

  it('T-OBS-2: is one also when this replica has never compared it', async () => {
    const metrics = new PromMetrics();
    world.ready = false;
    world.application();
    await start({ metrics, config: { appResyncMs: 0, hardResyncMs: 100_000 } });
    await clock.advance(320_000);
    expect(await metrics.expose()).toMatch(/driftless_applications_overdue\{dest_server="https:\/\/dest"\} 1/);
  });
});
