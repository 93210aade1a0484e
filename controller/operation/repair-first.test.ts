import { afterEach, describe, expect, it } from '@jest/globals';
import { yieldToLoop } from '#base';
import { KubeApiError } from '#kube';
import type { OperationState } from '#model';
import { automated, configMap } from '../testing/fake-world.ts';
import type { FakeWorld } from '../testing/fake-world.ts';
import { publisherAfter } from '../testing/published.ts';
import { stage } from '../testing/stage.ts';

const sha = 'a'.repeat(40);
const at = stage(({ git }) => git.push(sha, [configMap('one'), configMap('two')]));

/** The calls of all clients, in order: `hub patch Application demo`, `dest patch ConfigMap one`. */
const calls: string[] = [];
const noted = (where: string) => (call: string) => void calls.push(`${where} ${call}`);
const recorded = { hub: { before: noted('hub') }, dest: { before: noted('dest') } };
afterEach(() => void calls.splice(0));

const isRepair = (call: string): boolean => /^dest patch ConfigMap \S+$/.test(call);
const isRecord = (call: string): boolean => call.startsWith('hub patch Application');
const isStart = (call: string): boolean => call.startsWith('hub replace Application');

function drift(...names: readonly string[]): void {
  for (const name of names) {
    const live = at.world.dest.get('ConfigMap', name);
    if (live === undefined) throw new Error(`${name} is gone`);
    at.world.dest.put({ ...live, data: { key: 'by hand' } });
  }
}

const value = (name: string): unknown =>
  (at.world.dest.get('ConfigMap', name)?.['data'] as { key?: string } | undefined)?.key;
const state = (world: FakeWorld = at.world): OperationState | undefined => world.app.status?.operationState;
const healed = { sync: { autoHealAttemptsCount: 1, resources: [{ kind: 'ConfigMap', name: 'one' }] } };

/** A synced Application; `spec` restricts it. Forgets the calls so far. */
async function synced(options: Parameters<typeof at.start>[0] = recorded): Promise<void> {
  at.world.application(automated);
  await at.start(options);
  expect(at.world.app.status?.sync?.status).toBe('Synced');
  await at.clock.advance(400_000);
  calls.splice(0);
}

describe('a storm of drift', () => {
  it('is repaired before any of its operations is recorded, one write for each', async () => {
    const names = Array.from({ length: 40 }, (_, i) => `app-${i}`);
    for (const [i, name] of names.entries()) {
      const revision = String(i).padStart(40, '0');
      at.world.git.commits.set(revision, [configMap(`${name}-a`), configMap(`${name}-b`)]);
      const source = { repoURL: 'https://git/x', path: 'p', targetRevision: revision };
      at.world.application({ ...automated, source }, { metadata: { name } });
    }
    at.world.replica(recorded);
    await at.pass(60);
    calls.splice(0);
    drift(...names.flatMap((name) => [`${name}-a`, `${name}-b`]));
    await at.pass(10);
    const [repairs, records] = [calls.filter(isRepair), calls.filter(isRecord)];
    expect([repairs.length, records.length, calls.filter(isStart).length]).toEqual([80, 40, 0]);
    expect(calls.findLastIndex(isRepair)).toBeLessThan(calls.findIndex(isRecord));
    for (const name of names) {
      const { operation, status } = at.world.applicationOf(name);
      expect([operation, status?.sync?.status, status?.operationState?.phase]).toEqual([
        undefined,
        'Synced',
        'Succeeded',
      ]);
      expect(status?.operationState?.operation.sync?.autoHealAttemptsCount).toBe(1);
    }
  });
});

describe('a repair', () => {
  it('is recorded with what an operation would have left, and the comparison after it', async () => {
    await synced();
    const { history } = at.world.app.status ?? {};
    drift('one');
    await at.clock.advance(1000);
    expect(calls.filter((call) => isRepair(call) || isRecord(call) || isStart(call))).toEqual([
      'dest patch ConfigMap one',
      'hub patch Application demo',
    ]);
    expect(at.world.app.operation).toBeUndefined();
    expect(at.world.app.status).toMatchObject({ history, sync: { status: 'Synced', revision: sha } });
    expect(state()).toEqual({
      operation: {
        sync: { ...healed.sync, prune: true, revision: sha, source: at.world.app.spec.source },
        initiatedBy: { automated: true },
        retry: { limit: 5 },
      },
      phase: 'Succeeded',
      message: 'successfully synced (all tasks run)',
      startedAt: expect.any(String),
      finishedAt: expect.any(String),
      syncResult: {
        revision: sha,
        source: at.world.app.spec.source,
        resources: [
          {
            group: '',
            version: 'v1',
            kind: 'ConfigMap',
            namespace: 'apps',
            name: 'one',
            status: 'Synced',
            message: expect.any(String),
            hookPhase: 'Running',
            syncPhase: 'Sync',
          },
        ],
      },
    });
  });

  it('of a missing object recreates it', async () => {
    await synced();
    at.world.dest.delete('ConfigMap', 'two');
    await at.clock.advance(1000);
    expect(value('two')).toBe('1');
    expect(calls.filter(isStart)).toEqual([]);
    expect(state()).toMatchObject({ phase: 'Succeeded' });
  });

  it('counts as an attempt: the next one waits for its backoff', async () => {
    await synced();
    drift('one');
    await at.clock.advance(500);
    drift('one');
    await at.clock.advance(1000);
    expect(value('one')).toBe('by hand');
    await at.clock.advance(2000);
    expect(value('one')).toBe('1');
    expect(state()?.operation.sync?.autoHealAttemptsCount).toBe(2);
  });

  it('whose record is lost with its process is complete: the next process has nothing to do', async () => {
    let dead = false;
    const never = new Promise<void>(() => undefined);
    const before = (call: string): Promise<void> | void => {
      noted('hub')(call);
      dead ||= calls.some(isRepair);
      return dead ? never : undefined;
    };
    await synced({ ...recorded, hub: { before } });
    const { operationState } = at.world.app.status ?? {};
    drift('one', 'two');
    await at.clock.advance(5000);
    expect([value('one'), value('two'), calls.filter(isRepair).length]).toEqual(['1', '1', 2]);
    calls.splice(0);
    at.world.handOver(1);
    at.world.replica({ ...recorded, index: 1 });
    await at.clock.advance(60_000);
    expect(calls.filter((call) => isRepair(call) || isStart(call))).toEqual([]);
    expect(at.world.app.status).toMatchObject({ sync: { status: 'Synced' }, operationState });
  });

  describe('whose record waits for its turn', () => {
    let open = (): void => undefined;

    /** Another Application keeps the only worker, so that `demo` is repaired and has no turn. */
    async function repaired(): Promise<ReturnType<typeof at.world.replica>> {
      let isHeld = false;
      const opened = new Promise<void>((resolve) => (open = resolve));
      const publisher = publisherAfter((instance) => (isHeld && instance === 'busy' ? opened : undefined));
      at.world.git.commits.set('b'.repeat(40), [configMap('other')]);
      const source = { repoURL: 'https://git/x', path: 'p', targetRevision: 'b'.repeat(40) };
      at.world.application({ ...automated, source }, { metadata: { name: 'busy' } });
      at.world.application(automated);
      const replica = at.world.replica({ ...recorded, publisher, config: { statusProcessors: 1 } });
      await at.clock.advance(400_000);
      calls.splice(0);
      isHeld = true;
      drift('one');
      const other = at.world.dest.get('ConfigMap', 'other') ?? configMap('other');
      at.world.dest.put({ ...other, metadata: { ...other.metadata, labels: { touched: 'yes' } } });
      await at.clock.advance(200);
      expect([value('one'), calls.filter(isRecord)]).toEqual(['1', []]);
      return replica;
    }

    it('is recorded by a replica that stops', async () => {
      const replica = await repaired();
      const stopped = replica.stop();
      open();
      await at.clock.advance(3000);
      await stopped;
      expect(state()).toMatchObject({ phase: 'Succeeded', operation: healed });
    });

    it('is not recorded over an operation of a user, and an Event says so', async () => {
      await repaired();
      at.world.edit(() => ({ operation: { sync: { revision: sha }, initiatedBy: { username: 'me' } } }));
      open();
      await at.clock.advance(2000);
      expect(state()).toMatchObject({ phase: 'Succeeded', operation: { initiatedBy: { username: 'me' } } });
      const attempts = at.world.statuses().map(({ operationState }) => operationState?.operation.sync);
      expect(attempts.filter((sync) => sync?.autoHealAttemptsCount !== undefined)).toEqual([]);
      const events = [...at.world.hub.objects.values()].filter(({ kind }) => kind === 'Event');
      expect(events.map(({ message }) => message)).toContainEqual(
        expect.stringMatching(/^Partial sync operation to a+ succeeded, but is not recorded: /),
      );
    });
  });
});

describe('a repair that does not succeed', () => {
  it.each([
    ['forbidden', 403],
    ['in conflict', 409],
    ['invalid', 422],
  ])('because its write is %s becomes an operation with its retries and messages', async (reason, code) => {
    let isRefused = true;
    const before = (call: string): void => {
      noted('dest')(call);
      if (isRefused && call.startsWith('patch ConfigMap'))
        throw new KubeApiError({ code, reason, message: `it is ${reason}` }, 'dest');
    };
    await synced({ ...recorded, dest: { before } });
    drift('one');
    await at.clock.advance(1000);
    expect(calls.filter(isStart)).toHaveLength(1);
    expect(at.world.app).toMatchObject({ operation: healed });
    expect(state()).toMatchObject({ phase: 'Running', retryCount: 1, operation: healed });
    expect(state()?.message).toMatch(new RegExp(`it is ${reason}.*Retrying attempt #1`));
    isRefused = false;
    await at.clock.advance(10_000);
    expect(state()).toMatchObject({ phase: 'Succeeded', retryCount: 1 });
    drift('two');
    await at.clock.advance(10_000);
    expect([value('two'), calls.filter(isStart).length]).toEqual(['1', 1]);
  });
});

describe('a repair writes nothing', () => {
  /** Runs `change` when the repair reads the Application, right before its writes. */
  async function meanwhile(change: () => void): Promise<void> {
    let isArmed = false;
    const before = (call: string): void => {
      noted('hub')(call);
      if (!isArmed || call !== 'get Application demo') return;
      isArmed = false;
      change();
    };
    await synced({ ...recorded, hub: { before } });
    drift('one');
    isArmed = true;
    await at.clock.advance(1000);
    expect(isArmed).toBe(false);
  }

  const deny = { kind: 'deny', schedule: '* * * * *', duration: '1h', applications: ['*'], manualSync: true } as const;

  it.each<[string, () => void]>([
    ['in a sync window that has opened', () => at.world.project('default', { syncWindows: [deny] })],
    [
      'that its project forbids',
      () => at.world.project('default', { namespaceResourceBlacklist: [{ group: '', kind: 'ConfigMap' }] }),
    ],
    ['at a destination that its project forbids', () => at.world.project('default', { destinations: [] })],
    [
      'without a service account that impersonation demands',
      () => (at.world.settings = { ...at.world.settings, impersonation: { enabled: true, enforced: true } }),
    ],
    ['for an Application that another replica owns', () => at.world.handOver(1)],
    ['once self-heal is off', () => at.world.edit(({ spec }) => ({ spec: { ...(spec as object), syncPolicy: {} } }))],
  ])('%s', async (_, change) => {
    await meanwhile(change);
    expect(calls.filter(isRepair)).toEqual([]);
    expect(value('one')).toBe('by hand');
  });

  it('once the Application is being deleted', async () => {
    await meanwhile(() => at.setDeleting(['resources-finalizer.argocd.argoproj.io']));
    expect(calls.filter(isRepair)).toEqual([]);
    await at.clock.advance(10_000);
    expect([at.isGone(), value('one')]).toEqual([true, undefined]);
  });

  it('once a user has requested a sync, which runs instead', async () => {
    const operation = { sync: { revision: sha, dryRun: true }, initiatedBy: { username: 'me' } };
    await meanwhile(() => at.world.edit(() => ({ operation })));
    const writes = calls.filter((call) => call.startsWith('dest patch'));
    expect(writes[0]).toBe('dest patch ConfigMap one (dry run)');
    expect(at.world.statuses().map(({ operationState }) => operationState?.operation.initiatedBy?.username)).toContain(
      'me',
    );
  });
});

describe('a change between two writes of a repair', () => {
  it.each<[string, () => void]>([
    [
      'ends it, if it is a request of a user',
      () => at.world.edit(() => ({ operation: { sync: { revision: sha, dryRun: true } } })),
    ],
    ['ends it, if it is a deletion', () => at.setDeleting(['x/y'])],
    ['ends it, if it is a new owner', () => at.world.handOver(1)],
  ])('%s', async (_, change) => {
    let isArmed = false;
    const after = async (call: string): Promise<void> => {
      if (!isArmed || !call.startsWith('patch ConfigMap')) return;
      isArmed = false;
      change();
      // Until the watch has brought it.
      for (let turn = 0; turn < 20; turn += 1) await yieldToLoop();
    };
    await synced({ ...recorded, dest: { before: noted('dest'), after }, config: { kubectlParallelism: 1 } });
    const sent = at.world.dest.calls.length;
    drift('one', 'two');
    isArmed = true;
    await at.clock.advance(1000);
    expect(isArmed).toBe(false);
    expect(at.world.dest.calls.slice(sent, sent + 2)).not.toContain('patch ConfigMap two');
    expect(state()?.operation.sync?.autoHealAttemptsCount).toBeUndefined();
  });
});
