import { describe, expect, it } from '@jest/globals';
import { annotations, finalizers } from '#model';
import { automated, configMap } from '../testing/fake-world.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage();
const confirm = { [annotations.syncOptions]: 'Delete=confirm' };

async function synced(...marks: readonly Readonly<Record<string, string>>[]): Promise<void> {
  at.world.git.push(
    'a'.repeat(40),
    marks.map((mark, i) => configMap(`c${i}`, '1', mark)),
  );
  at.world.application(automated);
  await at.start();
  expect(at.names()).toHaveLength(marks.length);
}

async function deleteWith(finalizer: string): Promise<void> {
  at.setDeleting([finalizer]);
  await at.pass(20);
}

describe('a deletion', () => {
  it.each([
    [finalizers.resources, 'Foreground'],
    [finalizers.resourcesForeground, 'Foreground'],
    [finalizers.resourcesBackground, 'Background'],
  ])('with the finalizer %s deletes resources in the %s', async (finalizer, policy) => {
    await synced({}, {});
    await deleteWith(finalizer);
    expect([...at.world.dest.deleted].sort()).toEqual([`ConfigMap c0 ${policy}`, `ConfigMap c1 ${policy}`]);
    expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
  });

  it.each([
    ['Delete=false', { [annotations.syncOptions]: 'Prune=true,Delete=false' }],
    ["Helm's resource policy", { [annotations.helmResourcePolicy]: 'keep' }],
  ])('keeps a resource with %s', async (_title, mark) => {
    await synced(mark, { [annotations.helmResourcePolicy]: 'other' });
    await deleteWith(finalizers.resources);
    expect(at.world.dest.deleted).toEqual(['ConfigMap c1 Foreground']);
    expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
  });

  it('waits for an approval that is later than its beginning', async () => {
    await synced(confirm, {});
    const approve = (time: string): void =>
      at.world.edit(({ metadata }) => ({
        metadata: { ...metadata, annotations: { ...metadata.annotations, [annotations.deletionApproved]: time } },
      }));
    await deleteWith(finalizers.resources);
    approve('2000-01-01T00:00:00Z');
    await at.pass(400);
    expect(at.world.dest.deleted).toEqual([]);
    // A user may take any time.
    expect(at.conditions()).toEqual([expect.stringMatching(/^WaitingWarning: .*to be confirmed/)]);
    approve(new Date(at.clock.now()).toISOString());
    await at.pass(20);
    expect([...at.world.dest.deleted].sort()).toEqual(['ConfigMap c0 Foreground', 'ConfigMap c1 Foreground']);
    expect(at.world.hub.get('Application', 'demo')).toBeUndefined();
  });
});

it('a prune waits for an approval that is later than the beginning of its operation', async () => {
  await synced({ [annotations.syncOptions]: 'Prune=confirm' }, {});
  at.world.git.push('b'.repeat(40), [configMap('c1')]);
  at.world.application();
  at.world.edit(() => ({ operation: { sync: { revision: 'b'.repeat(40), prune: true } } }));
  await at.pass(10);
  expect(at.names()).toHaveLength(2);
  expect(at.world.app.status?.operationState?.phase).toBe('Running');
  const approved = { [annotations.deletionApproved]: new Date(at.clock.now() + 1000).toISOString() };
  at.world.edit(({ metadata }) => ({
    metadata: { ...metadata, annotations: { ...metadata.annotations, ...approved } },
  }));
  await at.pass(20);
  expect(at.names()).toHaveLength(1);
  expect(at.world.app.status?.operationState?.phase).toBe('Succeeded');
});
