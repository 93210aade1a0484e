import { describe, expect, it } from '@jest/globals';
import { DriftlessError } from '#base';
import { configMap } from '../testing/fake-world.ts';
import { wave } from '../testing/manifests.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage();

const first = 'a'.repeat(40);
const second = 'b'.repeat(40);

// T-STAT-1
describe('an Application of 5,000 resources', () => {
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
  const bytes = (): number => JSON.stringify(at.world.app.status).length;

  /** In its last step: all but one of its resources are applied. */
  function running(phase: string): void {
    const operation = { sync: { revision: first }, initiatedBy: {}, retry: {} };
    const source = { repoURL: 'https://git/x', path: 'p', targetRevision: 'main' };
    const syncResult = { revision: first, source, resources: results };
    const operationState = { operation, phase, startedAt: '1970-01-01T00:00:00Z', syncResult };
    at.world.application();
    at.world.edit(() => ({ operation: { sync: { revision: first } }, status: { operationState } }));
    at.world.hub.limit = 1.5 * 1024 * 1024;
  }

  // T-STAT-1
  it('has its operation completed and recorded, with a status below 1 MiB', async () => {
    at.world.git.push(first, [configMap('one')]);
    running('Running');
    expect(bytes()).toBeGreaterThan(1.5 * 1024 * 1024);
    await at.start();
    expect(at.world.app.status?.operationState?.phase).toBe('Succeeded');
    expect(at.world.app.operation).toBeUndefined();
    expect(at.world.app.status?.history).toHaveLength(1);
    expect(at.world.app.status?.sync?.status).toBe('Synced');
    expect(bytes()).toBeLessThan(1024 * 1024);
    expect(at.world.app.status?.operationState?.syncResult?.resources).toHaveLength(5001);
  });

  // T-STAT-1
  it('has its operation end with an Error that explains it, if not even its results fit', async () => {
    const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'slow', annotations: wave(0) }, spec: {} };
    at.world.git.push(first, [job, configMap('one', '1', wave(1))]);
    running('Running');
    at.world.hub.limit = 300_000;
    await at.start();
    expect(at.world.app.status?.operationState).toMatchObject({
      phase: 'Error',
      message: expect.stringContaining('(5001 resources) is too large to be stored with the Application'),
    });
    expect(at.world.app.operation).toBeUndefined();
  });

  // T-STAT-1
  it('has long messages cut, and a condition if the status is still too big', async () => {
    at.world.git.push(
      first,
      Array.from({ length: 60 }, (_, i) => configMap(`c${i}`)),
    );
    at.world.hub.limit = 1.5 * 1024 * 1024;
    at.world.application({}, { operation: { sync: {} } });
    const refuse = (call: string): void => {
      if (call.startsWith('create')) throw new DriftlessError('X', `${call} ${'x'.repeat(30_000)}`);
    };
    await at.start({ dest: { before: refuse } });
    expect(at.world.app.status?.operationState?.phase).toBe('Failed');
    expect(at.world.app.status?.operationState?.syncResult?.resources).toHaveLength(60);
    expect(bytes()).toBeLessThan(1024 * 1024);
    // A field of another writer takes the space: the refresh reports it once instead of retrying
    // forever.
    at.world.edit((object) => ({ status: { ...(object['status'] as object), note: 'n'.repeat(1_400_000) } }));
    at.world.hub.limit = 1_450_000;
    at.world.git.push(
      second,
      Array.from({ length: 1000 }, (_, i) => configMap(`c${i}`)),
    );
    await at.clock.advance(125_000);
    expect(at.world.app.status?.conditions).toEqual([
      expect.objectContaining({ type: 'UnknownError', message: expect.stringContaining('exceeds the Kubernetes') }),
    ]);
  });
});
