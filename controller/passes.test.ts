import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DriftlessError } from '#base';
import { KubeApiError } from '#kube';
import type { KubeObject } from '#model';
import { createMemoryPublisher } from '#publish';
import { FakeClock } from '#support';
import { createLogger } from '#telemetry';
import { automated, configMap, FakeWorld } from './testing/fake-world.ts';

const refresh = 'argocd.argoproj.io/refresh';

let clock: FakeClock;
let world: FakeWorld;

beforeEach(() => {
  clock = new FakeClock();
  world = new FakeWorld(clock);
  world.git.push('a'.repeat(40), [configMap('one'), configMap('two')]);
});
afterEach(async () => {
  await world.close(clock);
  expect(clock.pending).toBe(0);
});

async function start(options: Parameters<FakeWorld['replica']>[0] = {}): Promise<void> {
  world.replica(options);
  await clock.advance(2000);
}

/** How often an Application is synced while somebody writes to a field of its ConfigMap every few seconds, to one after the other. */
async function syncsOfAnHour(fields: readonly string[]): Promise<number> {
  clock = new FakeClock();
  world = new FakeWorld(clock);
  world.git.push('a'.repeat(40), [{ ...configMap('one'), data: { a: 'git', b: 'git' } }]);
  world.application(automated);
  const replica = world.replica();
  await clock.advance(2000);
  const starts = new Set<string>();
  for (let turn = 0; turn < 720; turn += 1) {
    const live = world.dest.get('ConfigMap', 'one');
    const field = fields[turn % fields.length] ?? '';
    if (live !== undefined) world.dest.put({ ...live, data: { ...(live['data'] as object), [field]: `${turn}` } });
    await clock.advance(5000);
    const state = world.app.status?.operationState;
    if (state?.operation.sync?.autoHealAttemptsCount !== undefined) starts.add(state.startedAt);
  }
  const ended = replica.stop();
  await clock.advance(2000);
  await ended;
  return starts.size;
}

describe('a refresh', () => {
  it('brings an automated application to Synced and then rests (T-STAT-2)', async () => {
    world.application(automated);
    await start();
    expect(world.app.status).toMatchObject({ sync: { status: 'Synced' }, health: { status: 'Healthy' } });
    expect(world.dest.get('ConfigMap', 'one')?.metadata.annotations).toMatchObject({
      'argocd.argoproj.io/tracking-id': 'demo:/ConfigMap:apps/one',
    });
    const before = world.writes().length;
    await clock.advance(3_600_000);
    expect(world.writes()).toHaveLength(before);
    expect(world.git.asked.length).toBeGreaterThan(20);
  });

  it('9.2: compares what changed in the cluster, and everything at the resync', async () => {
    const judged: string[] = [];
    const run = (_group: string, { metadata }: KubeObject): undefined => void judged.push(metadata.name ?? '');
    world.settings = { ...world.settings, healthScripts: { run } };
    world.application({ syncPolicy: { automated: {} } });
    await start();
    expect(world.app.status?.sync?.status).toBe('Synced');
    judged.length = 0;
    world.dest.put({ ...world.dest.get('ConfigMap', 'one')!, data: { key: 'by hand' } });
    await clock.advance(500);
    expect(world.app.status?.sync?.status).toBe('OutOfSync');
    expect(judged).toEqual(['one']);
    judged.length = 0;
    await clock.advance(125_000);
    expect([...new Set(judged)].sort()).toEqual(['one', 'two']);
  });

  it('heals drift without waiting, and prunes what left Git', async () => {
    world.application(automated);
    await start();
    world.dest.delete('ConfigMap', 'one');
    await clock.advance(10);
    expect(world.dest.get('ConfigMap', 'one')).toBeDefined();
    world.git.push('b'.repeat(40), [configMap('one')]);
    await clock.advance(125_000);
    expect(world.dest.get('ConfigMap', 'two')).toBeUndefined();
    expect(world.app.status?.history?.map((entry) => entry.revision)).toEqual(['a'.repeat(40), 'b'.repeat(40)]);
  });

  it('8.1.9: two who write to two fields in turn for an hour make no more syncs than one', async () => {
    const one = await syncsOfAnHour(['a']);
    // At once, after 2, 6, 18, 54 and 162 seconds, then every five minutes.
    expect(one).toBeGreaterThan(12);
    expect(one).toBeLessThan(20);
    expect(Math.abs((await syncsOfAnHour(['a', 'b'])) - one)).toBeLessThanOrEqual(1);
  });

  it('prunes nothing of a kind whose live state is not fresh, and says so', async () => {
    world.application(automated);
    await start();
    world.degraded = [
      { group: '', kind: 'ConfigMap', version: 'v1', state: 'degraded', message: 'watch failed', objects: 2 },
    ];
    world.git.push('b'.repeat(40), [configMap('one')]);
    await clock.advance(125_000);
    expect(world.dest.get('ConfigMap', 'two')).toBeDefined();
    expect(world.app.status?.conditions).toEqual([
      expect.objectContaining({
        type: 'StaleResourceWarning',
        message: 'The live state of /ConfigMap is not up to date, nothing of this kind is pruned: watch failed',
      }),
    ]);
    world.degraded = [];
    await clock.advance(600_000);
    expect(world.dest.get('ConfigMap', 'two')).toBeUndefined();
  });

  it('prunes what it had to skip as soon as the kind is fresh again, once, also without self-heal', async () => {
    world.application({ syncPolicy: { automated: { prune: true } } });
    await start();
    world.degraded = [
      { group: '', kind: 'ConfigMap', version: 'v1', state: 'degraded', message: 'watch failed', objects: 2 },
    ];
    world.git.push('b'.repeat(40), [configMap('one')]);
    await clock.advance(400_000);
    const skipped = world.app.status?.operationState;
    expect(skipped).toMatchObject({ phase: 'Succeeded', syncResult: { revision: 'b'.repeat(40) } });
    expect(world.dest.get('ConfigMap', 'two')).toBeDefined();
    await clock.advance(600_000);
    expect(world.app.status?.operationState?.startedAt).toBe(skipped?.startedAt);
    world.degraded = [];
    await clock.advance(600_000);
    expect(world.dest.get('ConfigMap', 'two')).toBeUndefined();
    expect(world.app.status?.sync?.status).toBe('Synced');
  });

  it('keeps the last comparison while the source cannot be read for a while (T-REPO)', async () => {
    world.application(automated);
    await start();
    world.git.failure = new DriftlessError('X', 'repository is away');
    await clock.advance(200_000);
    expect(world.app.status?.sync?.status).toBe('Synced');
    expect(world.app.status?.conditions).toBeUndefined();
    await clock.advance(600_000);
    expect(world.app.status?.sync?.status).toBe('Unknown');
    expect(world.app.status?.conditions).toEqual([
      expect.objectContaining({
        type: 'ComparisonError',
        message:
          'Failed to load target state: failed to generate manifest for source 1 of 1: rpc error: code = Unknown desc = repository is away',
      }),
    ]);
    world.git.failure = undefined;
    await clock.advance(600_000);
    expect(world.app.status).toMatchObject({ sync: { status: 'Synced' } });
    expect(world.app.status?.conditions).toBeUndefined();
  });

  it('comes by itself when the project, the spec or the owner changes', async () => {
    world.application({ project: 'later', ...automated });
    await start();
    expect(world.app.status?.conditions).toEqual([
      expect.objectContaining({ message: 'Application referencing project later which does not exist' }),
    ]);
    world.project('later');
    await clock.advance(1000);
    expect(world.app.status?.sync?.status).toBe('Synced');
    expect(world.app.status?.conditions).toBeUndefined();
    world.edit((object) => ({
      spec: { ...(object['spec'] as object), source: { repoURL: 'https://git/y', path: 'p', targetRevision: 'main' } },
    }));
    await clock.advance(1000);
    expect(world.app.status?.sync?.comparedTo?.source.repoURL).toBe('https://git/y');
  });

  it('ends without an error, and is not tried again, when the Application is deleted while it runs', async () => {
    const errors: string[] = [];
    const destination = { write: (line: string) => void errors.push(line) };
    world.application();
    const before = (call: string): void => {
      if (call.startsWith('patch Application')) world.hub.delete('Application', 'demo');
    };
    await start({ hub: { before }, logger: createLogger({ level: 'error', format: 'json', destination }) });
    await clock.advance(600_000);
    expect([errors, world.writes()]).toEqual([[], ['patch']]);
  });

  it('9.2: what is to be pruned stays, unknown, while discovery cannot read its kind', async () => {
    const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'two' }, spec: {} };
    world.git.push('a'.repeat(40), [configMap('one'), job]);
    world.application({ syncPolicy: { automated: { prune: false } } });
    await start();
    world.git.push('b'.repeat(40), [configMap('one')]);
    await clock.advance(200_000);
    const found = (): readonly unknown[] => [
      world.app.status?.sync?.status,
      ...(world.app.status?.resources ?? []).map(({ name, status }) => [name, status]),
    ];
    expect(found()).toEqual(['OutOfSync', ['one', 'Synced'], ['two', 'OutOfSync']]);
    world.dest.failedGroups.set('batch', 'too many requests');
    await clock.advance(200_000);
    expect(found()).toEqual(['Unknown', ['one', 'Synced'], ['two', 'Unknown']]);
    world.dest.failedGroups.clear();
    await clock.advance(200_000);
    expect(found()).toEqual(['OutOfSync', ['one', 'Synced'], ['two', 'OutOfSync']]);
  });

  it('is tried again when Applications are not served just now: that is no deletion', async () => {
    let refusals = 2;
    world.application();
    const before = (call: string): void => {
      if (!call.startsWith('patch Application') || refusals === 0) return;
      refusals -= 1;
      throw new KubeApiError({ code: 404, reason: 'NotFound', message: '404 page not found' }, call);
    };
    await start({ hub: { before } });
    await clock.advance(60_000);
    expect([refusals, world.app.status?.sync?.status]).toEqual([0, 'OutOfSync']);
  });

  it('starts a sync as soon as automation is switched on', async () => {
    world.application();
    await start();
    expect(world.dest.objects.size).toBe(0);
    world.edit((object) => ({ spec: { ...(object['spec'] as object), ...automated } }));
    await clock.advance(1000);
    expect(world.app.status?.sync?.status).toBe('Synced');
  });

  it('belongs to one replica: the other writes nothing', async () => {
    world.application(automated);
    world.owner = 1;
    await start({ index: 0 });
    expect(world.writes()).toEqual([]);
    expect(world.dest.calls).toEqual([]);
  });
});

it('9.6: every pass has an id, which all its lines name', async () => {
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
  world.application(automated);
  await start({ logger: createLogger({ level: 'info', format: 'json', destination }) });
  const passes = (msg: string): unknown[] => lines.filter((line) => line['msg'] === msg).map((line) => line['pass']);
  const refreshes = passes('Reconciliation completed');
  expect(new Set(refreshes).size).toBe(refreshes.length);
  expect(refreshes.length).toBeGreaterThan(1);
  expect(refreshes).toEqual(expect.arrayContaining(passes('Initiated automated sync')));
  expect(passes('Operation completed')).toEqual([expect.stringMatching(/^operation-[0-9]+$/)]);
  expect(lines.filter((line) => line['pass'] !== undefined && line['application'] !== 'argocd/demo')).toEqual([]);
});

describe('a refresh request', () => {
  it('is answered once and removed, with a fresh look at the repository', async () => {
    world.application();
    await start();
    const asked = world.git.asked.length;
    world.annotate({ [refresh]: 'normal' });
    await clock.advance(1000);
    expect(world.app.metadata.annotations?.[refresh]).toBeUndefined();
    expect(world.git.asked.length).toBe(asked + 1);
    expect(world.app.status?.reconciledAt).toBe('2026-01-01T00:00:02Z');
  });

  it.each([
    ['with a timestamp', 'one patch', 1],
    ['without one', 'two patches, the first marks it', 2],
  ])('15.4: %s costs %s, and one that arrives at any step of it is answered too (T-Q-1)', async (how, _, patches) => {
    const steps = await stepsOfRefresh(how);
    expect(steps.filter((call) => call.startsWith('patch Application'))).toHaveLength(patches);
    for (let step = 0; step < steps.length; step += 1) {
      clock = new FakeClock();
      world = new FakeWorld(clock);
      world.git.push('a'.repeat(40), [configMap('one')]);
      let armed = false;
      let count = 0;
      let renders = 0;
      const meddle = (): void => {
        if (!armed) return;
        if (count === step) {
          renders = world.git.asked.length;
          // A commit, and then a request, exactly like the one that is being worked on.
          world.git.push('b'.repeat(40), [configMap('one', '2')]);
          world.annotate(request(how, 2));
        }
        count += 1;
      };
      const replica = world.replica({ hub: { before: meddle } });
      world.application();
      await clock.advance(2000);
      armed = true;
      world.annotate(request(how, 1));
      await clock.advance(5000);
      expect(count).toBeGreaterThan(step);
      expect(world.app.status?.sync?.revision).toBe('b'.repeat(40));
      expect(world.app.metadata.annotations?.[refresh]).toBeUndefined();
      expect(world.git.asked.length).toBeGreaterThan(renders);
      const ended = replica.stop();
      await clock.advance(2000);
      await ended;
    }
  });

  it('15.4: is told, with the status, only of the object that was read', async () => {
    world.application();
    let meddled = 0;
    const before = (call: string): void => {
      if (
        !call.startsWith('patch Application') ||
        meddled > 0 ||
        world.app.metadata.annotations?.[refresh] === undefined
      )
        return;
      meddled += 1;
      world.annotate({ 'example.com/other': 'theirs' });
    };
    await start({ hub: { before } });
    world.annotate(request('with a timestamp', 1));
    await clock.advance(1000);
    expect(meddled).toBe(1);
    expect(world.app.metadata.annotations).toEqual({ 'example.com/other': 'theirs' });
    expect(world.app.status?.reconciledAt).toBe('2026-01-01T00:00:02Z');
  });
});

it('14.1: whoever writes an Application at each moment holds no processor up: the neighbour has its turn', async () => {
  world.application(automated);
  world.application({}, { metadata: { name: 'neighbour' } });
  let tries = 0;
  let before: number | undefined;
  const disturb = (call: string): void => {
    if (call === 'patch Application neighbour') before ??= tries;
    if (!call.startsWith('replace Application')) return;
    tries += 1;
    world.edit((object) => ({ metadata: { ...object.metadata, annotations: { tries: String(tries) } } }));
    if (tries > 200) throw new Error('nobody else has had a turn');
  };
  await start({ config: { statusProcessors: 1 }, hub: { before: disturb } });
  expect(before).toBeLessThanOrEqual(20);
  expect(before).toBeGreaterThan(4);
});

function request(how: string, n: number): Record<string, string> {
  return how === 'without one' ? { [refresh]: 'normal' } : { [refresh]: 'normal', [`${refresh}-timestamp`]: `t${n}` };
}

/** Calls to the hub that one requested refresh makes. */
async function stepsOfRefresh(how: string): Promise<readonly string[]> {
  const replica = world.replica();
  world.application();
  await clock.advance(2000);
  const before = world.hub.calls.length;
  world.annotate(request(how, 1));
  await clock.advance(3000);
  const ended = replica.stop();
  await clock.advance(2000);
  await ended;
  return world.hub.calls.slice(before);
}

describe('T-CACHE-2: a cluster that never published a schema', () => {
  it.each([['ServerSideApply=true'], ['ServerSideApply=false'], ['Replace=true']])(
    'T-CACHE-2: is written to all the same, with %s, and nobody asks for one before a write',
    async (how) => {
      world.application({ syncPolicy: { automated: { prune: true, selfHeal: true }, syncOptions: [how] } });
      const before = (call: string): void => {
        if (call === 'openapi') throw new Error('503');
      };
      await start({ dest: { before } });
      expect(world.app.status?.sync?.status).toBe('Synced');
      world.dest.put({ ...world.dest.get('ConfigMap', 'one')!, data: { key: 'by hand' } });
      await clock.advance(10_000);
      expect(world.dest.get('ConfigMap', 'one')).toMatchObject({ data: { key: '1' } });
    },
  );
});

describe('T-API-1: API servers that answer 429 for a minute', () => {
  const slowDown = (): never => {
    const status = { code: 429, reason: 'TooManyRequests', message: 'slow down', retryAfterMs: 1000 };
    throw new KubeApiError(status, 'fake');
  };

  it.each([['hub'], ['dest']] as const)(
    'T-API-1: of the %s are asked now and then, and all is done afterwards that was to be done',
    async (which) => {
      let isBusy = false;
      let refused = 0;
      const before = (call: string): void => {
        if (!isBusy || /^(?:list|watch)/.test(call)) return;
        refused += 1;
        slowDown();
      };
      world.application(automated);
      await start({ [which]: { before } });
      expect(world.app.status?.sync?.status).toBe('Synced');
      isBusy = true;
      world.git.push('b'.repeat(40), [configMap('one'), configMap('two', 'new'), configMap('three')]);
      world.dest.delete('ConfigMap', 'one');
      world.annotate({ [refresh]: 'normal' });
      await clock.advance(60_000);
      expect(refused).toBeGreaterThan(0);
      // Three objects, each at most once a second, and what is said of them.
      expect(refused).toBeLessThan(300);
      isBusy = false;
      await clock.advance(300_000);
      expect(world.app.status?.sync).toMatchObject({ status: 'Synced', revision: 'b'.repeat(40) });
      expect(world.app.status?.operationState?.phase).toBe('Succeeded');
      expect(world.dest.get('ConfigMap', 'two')).toMatchObject({ data: { key: 'new' } });
      expect(['one', 'three'].map((name) => world.dest.get('ConfigMap', name)?.kind)).toEqual([
        'ConfigMap',
        'ConfigMap',
      ]);
    },
  );
});

describe('an operation', () => {
  const operation = { operation: { sync: { revision: 'a'.repeat(40), prune: true }, initiatedBy: { username: 'me' } } };

  it('is taken up when the replica starts', async () => {
    world.application({}, operation);
    await start();
    expect(world.app.operation).toBeUndefined();
    expect(world.app.status?.operationState).toMatchObject({ phase: 'Succeeded' });
  });

  it('9.3: works in one step with the settings that held when it began', async () => {
    world.application();
    await start();
    world.git.meanwhile = () => {
      world.settings = { ...world.settings, impersonation: { enabled: true, enforced: true } };
    };
    world.edit(() => ({ operation: { sync: {} } }));
    await clock.advance(2000);
    expect(world.app.status?.operationState?.phase).toBe('Succeeded');
    // The next one looks again, and finds that the project names nobody to act as.
    world.edit(() => ({ operation: { sync: {} } }));
    await clock.advance(2000);
    expect(world.app.status?.operationState?.message).toMatch(/^no matching service account found/);
  });

  it('waits for a cluster that has no cache yet instead of failing', async () => {
    world.application({}, operation);
    world.ready = false;
    await start();
    await clock.advance(60_000);
    expect(world.app.status?.operationState?.phase).toBe('Running');
    world.ready = true;
    await clock.advance(5000);
    expect(world.app.status?.operationState?.phase).toBe('Succeeded');
    expect(world.app.status?.sync?.status).toBe('Synced');
  });

  it('9.2: waits for a cluster that is just being given up, of which there is no client to write with', async () => {
    world.application({}, operation);
    world.connected = false;
    await start();
    await clock.advance(60_000);
    expect(world.app.status?.operationState?.phase).toBe('Running');
    expect(world.dest.calls).toEqual([]);
    world.connected = true;
    await clock.advance(5000);
    expect(world.app.status?.operationState?.phase).toBe('Succeeded');
  });

  it('9.2: writes nothing to the cluster that has come to the URL of the one that was compared', async () => {
    world.application({}, operation);
    world.replaced = true;
    await start();
    await clock.advance(60_000);
    expect(world.app.status?.operationState?.phase).toBe('Running');
    expect(world.dest.calls).toEqual([]);
    world.replaced = false;
    await clock.advance(5000);
    expect(world.app.status?.operationState?.phase).toBe('Succeeded');
  });

  it('that a person terminates ends although the cluster never answers, and holds up no deletion', async () => {
    world.application({}, operation);
    world.ready = false;
    await start();
    await clock.advance(60_000);
    const state = world.app.status?.operationState;
    world.edit((object) => ({
      status: { ...(object['status'] as object), operationState: { ...state, phase: 'Terminating' } },
    }));
    await clock.advance(120_000);
    expect(world.app.status?.operationState).toMatchObject({
      phase: 'Error',
      message: expect.stringContaining('Operation termination had errors: waiting for the cache of cluster'),
    });
    expect(world.app.operation).toBeUndefined();
  });

  it('that fails is retried as announced, then ends', async () => {
    world.application({}, { operation: { sync: {}, retry: { limit: 1 } } });
    const fail = (call: string): void => {
      if (call.startsWith('create')) throw new DriftlessError('X', 'cluster says no');
    };
    await start({ dest: { before: fail } });
    const first = world.app.status?.operationState;
    expect(first).toMatchObject({ phase: 'Running', retryCount: 1 });
    expect(first?.message).toMatch(/\. Retrying attempt #1 at 12:00AM\.$/);
    await clock.advance(6000);
    expect(world.app.status?.operationState).toMatchObject({ phase: 'Failed' });
    expect(world.app.status?.operationState?.message).toMatch(/ \(retried 1 times\)\.$/);
    expect(world.app.operation).toBeUndefined();
  });

  it('that a person terminates while a step runs ends as terminated, whatever the step came to', async () => {
    world.application({}, operation);
    let done = false;
    const terminate = (call: string): void => {
      if (done || call !== 'create ConfigMap one') return;
      done = true;
      const state = world.app.status?.operationState;
      world.edit((object) => ({
        status: { ...(object['status'] as object), operationState: { ...state, phase: 'Terminating' } },
      }));
    };
    await start({ dest: { after: terminate } });
    await clock.advance(5000);
    expect(done).toBe(true);
    expect(world.app.status?.operationState).toMatchObject({ phase: 'Failed', message: 'Operation terminated' });
    expect(world.app.operation).toBeUndefined();
  });
  it('13.4: that another owner has ended, and begun the next one, is not written over that', async () => {
    world.application({}, operation);
    const next = '2030-01-01T00:00:00Z';
    const states: unknown[] = [];
    const moveOn = (call: string): void => {
      if (call === 'create ConfigMap one' && states.length === 0) {
        const state = world.app.status?.operationState;
        world.edit((object) => ({
          status: { ...(object['status'] as object), operationState: { ...state, startedAt: next } },
        }));
      }
      states.push(world.app.status?.operationState?.startedAt);
    };
    await start({ dest: { after: moveOn } });
    await clock.advance(5000);
    expect(states).toContain(next);
    expect(world.app.status?.operationState?.startedAt).toBe(next);
  });
});

describe('a hand-over', () => {
  it('in the middle of an operation: the old owner writes nothing more, the new one ends it (T-OP-5)', async () => {
    const wave = (n: number): Record<string, string> => ({ 'argocd.argoproj.io/sync-wave': String(n) });
    world.git.push('a'.repeat(40), [configMap('one', '1', wave(0)), configMap('two', '1', wave(1))]);
    world.application(automated);
    const late: string[] = [];
    const handOver = (call: string): void => {
      if (call === 'create ConfigMap one') world.handOver(1);
    };
    const watch = (call: string): void => {
      if (world.owner === 1 && /^(?:patch|replace|create|delete) /.test(call)) late.push(call);
    };
    world.replica({ index: 0, hub: { before: watch }, dest: { before: watch, after: handOver } });
    await start({ index: 1 });
    await clock.advance(60_000);
    expect(late.filter((call) => !call.includes(' Event '))).toEqual([]);
    expect(world.app.status?.operationState?.phase).toBe('Succeeded');
    expect(world.app.status?.history).toHaveLength(1);
    expect(world.dest.calls.filter((call) => call.startsWith('create'))).toEqual([
      'create ConfigMap one',
      'create ConfigMap two',
    ]);
  });

  it('11.1: what was published is not taken for what stands in the store any more', async () => {
    world.application();
    const publisher = createMemoryPublisher();
    const forget = jest.spyOn(publisher, 'forget');
    await start({ publisher });
    await clock.advance(5000);
    expect(publisher.tree('demo')?.nodes.map(({ name }) => name)).toEqual(['one', 'two']);
    expect(forget.mock.calls).toEqual([]);
    world.handOver(1);
    await clock.advance(5000);
    expect(forget.mock.calls).toEqual([['demo']]);
  });
});

describe('12.7: a cluster that has never answered', () => {
  it("12.7: is named in the condition, in Argo CD's words", async () => {
    world.git.push('a'.repeat(40), [configMap('one')]);
    world.application();
    world.dest.unreachable = 'failed to get server version: refused';
    await start();
    await clock.advance(5000);
    expect(world.app.status?.conditions).toEqual([
      expect.objectContaining({
        type: 'ComparisonError',
        message:
          'Failed to load live state: failed to get cluster info for "https://dest": error synchronizing cache state : failed to sync cluster https://dest: failed to get server version: refused',
      }),
    ]);
    expect(world.app.status?.resources?.map(({ name, status }) => [name, status])).toEqual([['one', 'Unknown']]);
  });
});

describe('8.1.13: a kind that cannot be read', () => {
  const secret = (value: string): KubeObject => ({ ...configMap('safe', value), kind: 'Secret' });
  const why = 'failed to get managed objects: unexpected error getting managed object: no webhook';
  const condition = `Failed to load live state: ${why} (Secret apps/safe)`;

  beforeEach(async () => {
    world.git.push('a'.repeat(40), [configMap('one'), secret('1')]);
    world.application(automated);
    await start();
    world.unread = (object) => (object.kind === 'Secret' ? why : undefined);
    world.git.push('b'.repeat(40), [configMap('one', '2'), secret('2')]);
    await clock.advance(125_000);
  });

  it('8.1.13: leaves the rest of the Application as it is, says so, and is over soon after', async () => {
    const { status } = world.app;
    expect(status?.sync?.status).toBe('OutOfSync');
    expect(status?.resources?.map(({ name, status: code }) => [name, code])).toEqual([
      ['one', 'OutOfSync'],
      ['safe', 'Unknown'],
    ]);
    expect(status?.conditions).toEqual([expect.objectContaining({ type: 'ComparisonError', message: condition })]);
    // Nothing was started: an operation that is refused would not be tried again for this revision.
    expect(status?.operationState?.syncResult?.revision).toBe('a'.repeat(40));
    world.unread = () => undefined;
    await clock.advance(35_000);
    expect(world.app.status).toMatchObject({ sync: { status: 'Synced', revision: 'b'.repeat(40) } });
    expect(world.app.status?.conditions ?? []).toEqual([]);
    expect(world.dest.get('Secret', 'safe')).toMatchObject({ data: { key: '2' } });
  });

  it("8.1.13: an operation that would touch it is refused with Argo CD's words, one of other resources is done", async () => {
    world.edit(() => ({ operation: { sync: {} } }));
    await clock.advance(5000);
    expect(world.app.status?.operationState).toMatchObject({
      phase: 'Error',
      message: `ComparisonError: ${condition}`,
    });
    expect(world.dest.get('ConfigMap', 'one')).toMatchObject({ data: { key: '1' } });
    world.edit(() => ({ operation: { sync: { prune: true, resources: [{ kind: 'ConfigMap', name: 'one' }] } } }));
    await clock.advance(5000);
    expect(world.app.status?.operationState?.phase).toBe('Succeeded');
    expect(world.dest.get('ConfigMap', 'one')).toMatchObject({ data: { key: '2' } });
    expect(world.dest.get('Secret', 'safe')).toMatchObject({ data: { key: '1' } });
  });

  it('8.1.13: a deletion waits for it, and deletes all when it can be read', async () => {
    world.edit((object) => ({
      metadata: { ...object.metadata, finalizers: ['resources-finalizer.argocd.argoproj.io'] },
    }));
    world.hub.delete('Application', 'demo');
    await clock.advance(20_000);
    expect(world.app.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'DeletionError', message: expect.stringContaining(why) }),
    );
    expect(world.dest.get('ConfigMap', 'one')).toBeDefined();
    world.unread = () => undefined;
    await clock.advance(60_000);
    expect(world.hub.get('Application', 'demo')).toBeUndefined();
    expect(world.dest.get('Secret', 'safe')).toBeUndefined();
  });
});

describe('a deletion with the finalizer', () => {
  it('removes by descending wave, and waits for each', async () => {
    const wave = (n: number): Record<string, string> => ({ 'argocd.argoproj.io/sync-wave': String(n) });
    world.git.push('a'.repeat(40), [configMap('first', '1', wave(0)), configMap('last', '1', wave(5))]);
    world.application(automated, {
      metadata: { name: 'demo', namespace: 'argocd', finalizers: ['resources-finalizer.argocd.argoproj.io'] },
    });
    await start();
    expect(world.dest.get('ConfigMap', 'last')).toBeDefined();
    world.dest.put({
      ...world.dest.get('ConfigMap', 'last')!,
      metadata: { ...world.dest.get('ConfigMap', 'last')!.metadata, finalizers: ['example.com/slow'] },
    });
    await clock.advance(1000);
    world.hub.delete('Application', 'demo');
    await clock.advance(60_000);
    expect(world.dest.get('ConfigMap', 'first')).toBeDefined();
    const last = world.dest.get('ConfigMap', 'last')!;
    world.dest.put({ ...last, metadata: { ...last.metadata, finalizers: [] } });
    await clock.advance(20_000);
    expect(world.dest.get('ConfigMap', 'first')).toBeUndefined();
    expect(world.hub.get('Application', 'demo')).toBeUndefined();
  });

  it('says why it cannot, and goes on when it can', async () => {
    world.application(automated, {
      metadata: { name: 'demo', namespace: 'argocd', finalizers: ['resources-finalizer.argocd.argoproj.io'] },
    });
    await start();
    world.degraded = [
      { group: '', kind: 'ConfigMap', version: 'v1', state: 'degraded', message: 'watch failed', objects: 2 },
    ];
    world.hub.delete('Application', 'demo');
    await clock.advance(10_000);
    expect(world.app.status?.conditions).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          type: 'DeletionError',
          message: 'the live state of /ConfigMap is not up to date: watch failed',
        }),
      ]),
    );
    world.degraded = [];
    await clock.advance(20_000);
    expect(world.hub.get('Application', 'demo')).toBeUndefined();
    expect(world.dest.get('ConfigMap', 'one')).toBeUndefined();
  });

  /** A ConfigMap and a Job, synced, of an Application that goes with them. */
  async function startWithJob(): Promise<void> {
    const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'two' }, spec: {} };
    world.git.push('a'.repeat(40), [configMap('one'), job]);
    world.application(automated, {
      metadata: { name: 'demo', namespace: 'argocd', finalizers: ['resources-finalizer.argocd.argoproj.io'] },
    });
    await start();
    expect(world.dest.get('Job', 'two')).toMatchObject(job);
  }

  it('9.2: leaves nothing behind of a kind that discovery has not been able to read since the start', async () => {
    await startWithJob();
    world.dest.failedGroups.set('batch', 'too many requests');
    world.hub.delete('Application', 'demo');
    await clock.advance(10_000);
    const message = 'the live state of batch/Job cannot be read: too many requests';
    expect(world.app.status?.conditions).toContainEqual(expect.objectContaining({ type: 'DeletionError', message }));
    world.dest.failedGroups.clear();
    await clock.advance(30_000);
    expect([world.hub.get('Application', 'demo'), world.dest.get('Job', 'two')]).toEqual([undefined, undefined]);
  });

  it.each(['a prune', 'a cascade'])(
    '14.4: %s leaves what is given to another Application just before its deletion',
    async (what) => {
      world.git.push('a'.repeat(40), [configMap('one'), configMap('moved')]);
      world.application(automated, {
        metadata: { name: 'demo', namespace: 'argocd', finalizers: ['resources-finalizer.argocd.argoproj.io'] },
      });
      const others = { 'argocd.argoproj.io/tracking-id': 'other:/ConfigMap:apps/moved' };
      const before = (call: string): void => {
        const moved = world.dest.get('ConfigMap', 'moved');
        if (call !== 'delete ConfigMap moved' || moved === undefined) return;
        world.dest.put({ ...moved, metadata: { ...moved.metadata, annotations: others } });
      };
      await start({ dest: { before } });
      expect(world.dest.get('ConfigMap', 'moved')).toMatchObject(configMap('moved'));
      if (what === 'a cascade') world.hub.delete('Application', 'demo');
      else world.git.push('b'.repeat(40), [configMap('one')]);
      await clock.advance(200_000);
      expect(world.dest.calls).toContain('delete ConfigMap moved');
      expect(world.dest.get('ConfigMap', 'moved')?.metadata.annotations).toEqual(others);
      if (what === 'a cascade') {
        expect([world.hub.get('Application', 'demo'), world.dest.get('ConfigMap', 'one')]).toEqual([
          undefined,
          undefined,
        ]);
      } else {
        expect(world.app.status?.operationState?.phase).toBe('Succeeded');
        expect(world.app.status?.sync?.status).toBe('Synced');
      }
    },
  );

  it('14.4: waits for a kind that discovery does not name, as long as nobody can say that it is not served', async () => {
    await startWithJob();
    world.dest.unnamedGroups.add('batch');
    world.unsure = 'discovery does not name it';
    world.hub.delete('Application', 'demo');
    await clock.advance(10_000);
    const message = 'the live state of batch/Job cannot be read: discovery does not name it';
    expect(world.app.status?.conditions).toContainEqual(expect.objectContaining({ type: 'DeletionError', message }));
    world.dest.unnamedGroups.clear();
    world.unsure = undefined;
    await clock.advance(30_000);
    expect([world.hub.get('Application', 'demo'), world.dest.get('Job', 'two')]).toEqual([undefined, undefined]);
  });

  it('14.4: does not wait for a kind that is not served any more', async () => {
    await startWithJob();
    world.dest.unnamedGroups.add('batch');
    world.hub.delete('Application', 'demo');
    await clock.advance(30_000);
    expect([world.hub.get('Application', 'demo'), world.dest.get('ConfigMap', 'one')]).toEqual([undefined, undefined]);
  });

  it('runs delete hooks before and after', async () => {
    const hook = (type: string): Record<string, string> => ({ 'argocd.argoproj.io/hook': type });
    world.git.push('a'.repeat(40), [
      configMap('one'),
      configMap('before', '1', hook('PreDelete')),
      configMap('after', '1', hook('PostDelete')),
    ]);
    world.application(automated, {
      metadata: { name: 'demo', namespace: 'argocd', finalizers: ['resources-finalizer.argocd.argoproj.io'] },
    });
    await start();
    expect(world.app.metadata.finalizers).toEqual([
      'resources-finalizer.argocd.argoproj.io',
      'pre-delete-finalizer.argocd.argoproj.io',
      'pre-delete-finalizer.argocd.argoproj.io/cleanup',
      'post-delete-finalizer.argocd.argoproj.io',
      'post-delete-finalizer.argocd.argoproj.io/cleanup',
    ]);
    expect(world.dest.get('ConfigMap', 'before')).toBeUndefined();
    world.hub.delete('Application', 'demo');
    await clock.advance(60_000);
    expect(world.hub.get('Application', 'demo')).toBeUndefined();
    const order = world.dest.calls.filter((call) => /^(?:create|delete) ConfigMap (?:one|before|after)$/.test(call));
    expect(order.filter((call) => call !== 'delete ConfigMap before').slice(-3)).toEqual([
      'create ConfigMap before',
      'delete ConfigMap one',
      'create ConfigMap after',
    ]);
  });

  it('makes a delete hook that has only a prefix once, and ends', async () => {
    const hook = configMap('', '1', { 'argocd.argoproj.io/hook': 'PreDelete' });
    world.git.push('a'.repeat(40), [
      configMap('one'),
      { ...hook, metadata: { ...hook.metadata, generateName: 'bye-' } },
    ]);
    world.application(automated, {
      metadata: { name: 'demo', namespace: 'argocd', finalizers: ['resources-finalizer.argocd.argoproj.io'] },
    });
    await start();
    world.hub.delete('Application', 'demo');
    await clock.advance(60_000);
    expect(world.hub.get('Application', 'demo')).toBeUndefined();
    const made = world.dest.calls.filter(
      (call) => call.startsWith('create ConfigMap bye-') || call === 'create ConfigMap ',
    );
    expect(made).toEqual([expect.stringMatching(/^create ConfigMap bye-predelete-\d+$/)]);
  });
});
