import { describe, expect, it } from '@jest/globals';
import type { ApplicationStatus } from '#model';
import { parseTime } from '../shared/kube-time.ts';
import { automated, configMap } from '../testing/fake-world.ts';
import { stage } from '../testing/stage.ts';

const sha = 'a'.repeat(40);

const at = stage(({ git }) =>
  git.push(sha, [configMap('one'), configMap('two'), configMap('three'), configMap('four')]),
);

/** Writes that report the end of a sync. */
function ends(): readonly ApplicationStatus[] {
  return at.world.statuses().filter(({ operationState }) => operationState?.phase === 'Succeeded');
}

/** Opened once. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}

describe('a first sync', () => {
  it('takes two writes: the status with its start, and its end with the final comparison', async () => {
    at.world.application(automated);
    at.world.replica();
    await at.clock.advance(10_000);
    expect(at.world.writes()).toEqual(['replace', 'patch']);
    expect(at.world.statuses().at(-2)).toMatchObject({
      sync: { status: 'OutOfSync' },
      operationState: { phase: 'Running' },
    });
    expect(at.world.statuses().at(-1)).toMatchObject({
      sync: { status: 'Synced' },
      operationState: { phase: 'Succeeded' },
    });
    expect(at.world.app.operation).toBeUndefined();
    expect(at.world.app.status?.history).toHaveLength(1);
  });

  it('takes no read: the server refuses a write of an outdated Application', async () => {
    at.world.application(automated);
    at.world.replica();
    await at.clock.advance(10_000);
    expect(at.world.hub.calls.filter((call) => call.startsWith('get Application'))).toEqual([]);
    expect(at.world.app.status?.operationState?.phase).toBe('Succeeded');
  });

  it('starts once, from what another client has written meanwhile', async () => {
    at.world.application(automated);
    let isFirst = true;
    const before = (call: string): void => {
      if (isFirst && call.startsWith('replace'))
        at.world.edit((object) => ({ metadata: { ...object.metadata, labels: { team: 'one' } } }));
      if (call.startsWith('replace')) isFirst = false;
    };
    at.world.replica({ hub: { before } });
    await at.clock.advance(10_000);
    const calls = at.world.hub.calls.filter((call) => /^(get|replace|patch) Application/.test(call));
    expect(calls).toEqual(['replace', 'get', 'replace', 'patch'].map((verb) => `${verb} Application demo`));
    expect(at.world.app.metadata.labels).toEqual({ team: 'one' });
    expect(at.world.app.status).toMatchObject({ sync: { status: 'Synced' }, operationState: { phase: 'Succeeded' } });
  });

  it('takes two writes when a user requested it, too', async () => {
    at.world.application();
    at.world.replica();
    await at.clock.advance(5000);
    const before = at.world.writes().length;
    at.world.edit(() => ({ operation: { sync: {}, initiatedBy: { username: 'me' } } }));
    await at.clock.advance(10_000);
    expect(at.world.writes().slice(before)).toEqual(['patch', 'patch']);
    expect(at.world.app.status).toMatchObject({ sync: { status: 'Synced' }, operationState: { phase: 'Succeeded' } });
  });

  it('is recorded as Running before anything is written to the cluster', async () => {
    at.world.application(automated);
    const phases: unknown[] = [];
    const before = (call: string): void => {
      if (call.startsWith('create'))
        phases.push([at.world.app.operation !== undefined, at.world.app.status?.operationState?.phase]);
    };
    at.world.replica({ dest: { before } });
    await at.clock.advance(5000);
    expect(phases).toEqual([1, 2, 3, 4].map(() => [true, 'Running']));
  });

  it('ends with a comparison that clients accept as later than the sync, started after its last write', async () => {
    at.world.application(automated);
    at.world.dest.put({ ...configMap('one'), metadata: { name: 'one', namespace: 'apps' } });
    at.world.replica();
    await at.clock.advance(5000);
    expect(ends()).toHaveLength(1);
    const [end] = ends();
    const [finished, compared] = [parseTime(end?.operationState?.finishedAt), parseTime(end?.reconciledAt)];
    expect(compared ?? 0).toBeGreaterThanOrEqual(finished ?? Number.POSITIVE_INFINITY);
    expect(end?.resources?.map(({ status }) => status)).toEqual(['Synced', 'Synced', 'Synced', 'Synced']);
  });

  it('reports intermediate states after a second, and not before', async () => {
    at.world.application({ syncPolicy: { automated: {} } });
    const held = gate();
    at.world.replica({ dest: { before: (call) => (call === 'create ConfigMap two' ? held.opened : undefined) } });
    await at.clock.advance(900);
    expect(at.world.writes()).toEqual(['replace']);
    await at.clock.advance(200);
    expect(at.world.writes()).toEqual(['replace', 'patch']);
    const open = at.world.app.status?.resources?.filter(({ status }) => status === 'OutOfSync').map(({ name }) => name);
    expect(open).toEqual(['two']);
    held.open();
    await at.clock.advance(5000);
    expect(at.world.writes()).toEqual(['replace', 'patch', 'patch']);
    expect(at.world.app.status?.sync?.status).toBe('Synced');
  });
});

describe('a first sync that waits for others', () => {
  it('takes two writes however long it waits: intermediate states are reported after it has run for a second', async () => {
    const held = gate();
    const before = (call: string): Promise<void> | undefined => (call.startsWith('create') ? held.opened : undefined);
    at.world.application(automated);
    at.world.replica({ dest: { before }, config: { kubectlParallelism: 1 } });
    await at.clock.advance(8000);
    expect(at.world.writes()).toEqual(['replace']);
    held.open();
    await at.clock.advance(10_000);
    expect(at.world.writes()).toEqual(['replace', 'patch']);
    expect(at.world.app.status).toMatchObject({ sync: { status: 'Synced' }, operationState: { phase: 'Succeeded' } });
  });
});
