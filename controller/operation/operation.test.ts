import { describe, expect, it } from '@jest/globals';
import { DriftlessError } from '#base';
import { configMap } from '../testing/fake-world.ts';
import { hook } from '../testing/manifests.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage(({ git }) => git.push('a'.repeat(40), [configMap('one'), configMap('two')]));

describe('an operation', () => {
  const operation = { operation: { sync: { revision: 'a'.repeat(40), prune: true }, initiatedBy: { username: 'me' } } };

  it('is resumed when the replica starts', async () => {
    at.world.application({}, operation);
    await at.start();
    expect(at.world.app.operation).toBeUndefined();
    expect(at.world.app.status?.operationState).toMatchObject({ phase: 'Succeeded' });
  });

  it('runs its hooks although another one began in the same second', async () => {
    at.world.git.push('a'.repeat(40), [configMap('one'), configMap('done', '1', hook('PostSync'))]);
    at.world.application({}, operation);
    at.world.replica();
    await at.clock.advance(300);
    const first = at.world.app.status?.operationState;
    at.world.edit(() => operation);
    await at.clock.advance(300);
    const second = at.world.app.status?.operationState;
    expect([first?.phase, second?.phase, at.world.app.operation]).toEqual(['Succeeded', 'Succeeded', undefined]);
    expect(at.world.dest.calls.filter((call) => call === 'create ConfigMap done')).toHaveLength(2);
    expect(second?.startedAt).not.toBe(first?.startedAt);
  });

  it('uses the settings from its start throughout a step', async () => {
    at.world.application();
    await at.start();
    at.world.git.meanwhile = () => {
      at.world.settings = { ...at.world.settings, impersonation: { enabled: true, enforced: true } };
    };
    at.world.edit(() => ({ operation: { sync: {} } }));
    await at.clock.advance(2000);
    expect(at.world.app.status?.operationState?.phase).toBe('Succeeded');
    // The next step reads again, and finds that the project names no service account.
    at.world.edit(() => ({ operation: { sync: {} } }));
    await at.clock.advance(2000);
    expect(at.world.app.status?.operationState?.message).toMatch(/^no matching service account found/);
  });

  it('waits for a cluster without a cache instead of failing', async () => {
    at.world.application({}, operation);
    at.world.ready = false;
    await at.start();
    await at.clock.advance(60_000);
    expect(at.world.app.status?.operationState?.phase).toBe('Running');
    at.world.ready = true;
    await at.clock.advance(5000);
    expect(at.world.app.status?.operationState?.phase).toBe('Succeeded');
    expect(at.world.app.status?.sync?.status).toBe('Synced');
  });

  it('waits for a cluster that was just removed and has no client', async () => {
    at.world.application({}, operation);
    at.world.connected = false;
    await at.start();
    await at.clock.advance(60_000);
    expect(at.world.app.status?.operationState?.phase).toBe('Running');
    expect(at.world.dest.calls).toEqual([]);
    at.world.connected = true;
    await at.clock.advance(5000);
    expect(at.world.app.status?.operationState?.phase).toBe('Succeeded');
  });

  it('writes nothing to a cluster that took the URL of the compared one', async () => {
    at.world.application({}, operation);
    at.world.replaced = true;
    await at.start();
    await at.clock.advance(60_000);
    expect(at.world.app.status?.operationState?.phase).toBe('Running');
    expect(at.world.dest.calls).toEqual([]);
    at.world.replaced = false;
    await at.clock.advance(5000);
    expect(at.world.app.status?.operationState?.phase).toBe('Succeeded');
  });

  it('ends when a user terminates it although the cluster never answers, and does not block a deletion', async () => {
    at.world.application({}, operation);
    at.world.ready = false;
    await at.start();
    await at.clock.advance(60_000);
    const state = at.world.app.status?.operationState;
    at.world.edit((object) => ({
      status: { ...(object['status'] as object), operationState: { ...state, phase: 'Terminating' } },
    }));
    await at.clock.advance(120_000);
    expect(at.world.app.status?.operationState).toMatchObject({
      phase: 'Error',
      message: expect.stringContaining('Operation termination had errors: waiting for the cache of cluster'),
    });
    expect(at.world.app.operation).toBeUndefined();
  });

  it('that fails is retried as configured, then ends', async () => {
    at.world.application({}, { operation: { sync: {}, retry: { limit: 1 } } });
    const fail = (call: string): void => {
      if (call.startsWith('create')) throw new DriftlessError('X', 'cluster says no');
    };
    await at.start({ dest: { before: fail } });
    const first = at.world.app.status?.operationState;
    expect(first).toMatchObject({ phase: 'Running', retryCount: 1 });
    expect(first?.message).toMatch(/\. Retrying attempt #1 at \d{4}-\d\d-\d\dT00:00:\d\dZ\.$/);
    await at.clock.advance(6000);
    expect(at.world.app.status?.operationState).toMatchObject({ phase: 'Failed' });
    expect(at.world.app.status?.operationState?.message).toMatch(/ \(retried 1 times\)\.$/);
    expect(at.world.app.operation).toBeUndefined();
  });

  it('terminated by a user during a step ends as terminated, whatever the step returned', async () => {
    at.world.application({}, operation);
    let done = false;
    const terminate = (call: string): void => {
      if (done || call !== 'create ConfigMap one') return;
      done = true;
      const state = at.world.app.status?.operationState;
      at.world.edit((object) => ({
        status: { ...(object['status'] as object), operationState: { ...state, phase: 'Terminating' } },
      }));
    };
    await at.start({ dest: { after: terminate } });
    await at.clock.advance(5000);
    expect(done).toBe(true);
    expect(at.world.app.status?.operationState).toMatchObject({ phase: 'Failed', message: 'Operation terminated' });
    expect(at.world.app.operation).toBeUndefined();
  });
  it('that another owner completed and replaced is not overwritten', async () => {
    at.world.application({}, operation);
    const next = '2030-01-01T00:00:00Z';
    const states: unknown[] = [];
    const moveOn = (call: string): void => {
      if (call === 'create ConfigMap one' && states.length === 0) {
        const state = at.world.app.status?.operationState;
        at.world.edit((object) => ({
          status: { ...(object['status'] as object), operationState: { ...state, startedAt: next } },
        }));
      }
      states.push(at.world.app.status?.operationState?.startedAt);
    };
    await at.start({ dest: { after: moveOn } });
    await at.clock.advance(5000);
    expect(states).toContain(next);
    expect(at.world.app.status?.operationState?.startedAt).toBe(next);
  });
});
