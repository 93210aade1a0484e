import { beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { automated, configMap } from '../testing/fake-world.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage(({ git }) => git.push('a'.repeat(40), [configMap('one'), configMap('two')]));

describe('a cluster that never answered', () => {
  it("is named in the condition, in Argo CD's words", async () => {
    at.world.git.push('a'.repeat(40), [configMap('one')]);
    at.world.application();
    at.world.dest.unreachable = 'failed to get server version: refused';
    await at.start();
    await at.clock.advance(5000);
    expect(at.world.app.status?.conditions).toEqual([
      expect.objectContaining({
        type: 'ComparisonError',
        message:
          'Failed to load live state: failed to get cluster info for "https://dest": error synchronizing cache state : failed to sync cluster https://dest: failed to get server version: refused',
      }),
    ]);
    expect(at.world.app.status?.resources?.map(({ name, status }) => [name, status])).toEqual([['one', 'Unknown']]);
  });
});

describe('a kind that cannot be read', () => {
  const secret = (value: string): KubeObject => ({ ...configMap('safe', value), kind: 'Secret' });
  const why = 'failed to get managed objects: unexpected error getting managed object: no webhook';
  const condition = `Failed to load live state: ${why} (Secret apps/safe)`;

  beforeEach(async () => {
    at.world.git.push('a'.repeat(40), [configMap('one'), secret('1')]);
    at.world.application(automated);
    await at.start();
    at.world.unread = (object) => (object.kind === 'Secret' ? why : undefined);
    at.world.git.push('b'.repeat(40), [configMap('one', '2'), secret('2')]);
    await at.clock.advance(125_000);
  });

  it('leaves the rest of the Application unchanged, is reported, and clears soon afterwards', async () => {
    const { status } = at.world.app;
    expect(status?.sync?.status).toBe('OutOfSync');
    expect(status?.resources?.map(({ name, status: code }) => [name, code])).toEqual([
      ['one', 'OutOfSync'],
      ['safe', 'Unknown'],
    ]);
    expect(status?.conditions).toEqual([expect.objectContaining({ type: 'ComparisonError', message: condition })]);
    // No operation started: a refused one would not be retried for this revision.
    expect(status?.operationState?.syncResult?.revision).toBe('a'.repeat(40));
    at.world.unread = () => undefined;
    await at.clock.advance(35_000);
    expect(at.world.app.status).toMatchObject({ sync: { status: 'Synced', revision: 'b'.repeat(40) } });
    expect(at.world.app.status?.conditions ?? []).toEqual([]);
    expect(at.world.dest.get('Secret', 'safe')).toMatchObject({ data: { key: '2' } });
  });

  it("refuses an operation that would touch it, in Argo CD's words, and permits one for other resources", async () => {
    at.world.edit(() => ({ operation: { sync: {} } }));
    await at.clock.advance(5000);
    expect(at.world.app.status?.operationState).toMatchObject({
      phase: 'Error',
      message: `ComparisonError: ${condition}`,
    });
    expect(at.world.dest.get('ConfigMap', 'one')).toMatchObject({ data: { key: '1' } });
    at.world.edit(() => ({ operation: { sync: { prune: true, resources: [{ kind: 'ConfigMap', name: 'one' }] } } }));
    await at.clock.advance(5000);
    expect(at.world.app.status?.operationState?.phase).toBe('Succeeded');
    expect(at.world.dest.get('ConfigMap', 'one')).toMatchObject({ data: { key: '2' } });
    expect(at.world.dest.get('Secret', 'safe')).toMatchObject({ data: { key: '1' } });
  });

  it('blocks a deletion, which deletes everything once it is readable', async () => {
    at.world.edit((object) => ({
      metadata: { ...object.metadata, finalizers: ['resources-finalizer.argocd.argoproj.io'] },
    }));
    at.world.hub.delete('Application', 'demo');
    await at.clock.advance(20_000);
    expect(at.world.app.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'DeletionError', message: expect.stringContaining(why) }),
    );
    expect(at.world.dest.get('ConfigMap', 'one')).toMatchObject({ data: { key: '1' } });
    at.world.unread = () => undefined;
    await at.clock.advance(60_000);
    expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
    expect(at.world.dest.get('Secret', 'safe')).toBeUndefined();
  });
});
