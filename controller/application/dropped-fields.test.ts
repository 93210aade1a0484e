import { describe, expect, it } from '@jest/globals';
import { automated, configMap } from '../testing/fake-world.ts';
import { tidyStage } from '../testing/stage.ts';

const revision = 'a'.repeat(40);
const at = tidyStage(({ git }) => git.push(revision, [configMap('one'), configMap('two')]));
const events = (): readonly (readonly [reason: unknown, message: unknown])[] =>
  [...at.world.hub.objects.values()]
    .filter(({ kind }) => kind === 'Event')
    .map((event) => [event['reason'], event['message']]);
const announced = (): readonly unknown[] =>
  events().flatMap(([reason, message]) => (reason === 'RemovalPending' ? [message] : []));

/** An object that Argo CD applied server-side, with a key that Git has dropped since. */
function putWithOldKey(name: string): void {
  const fieldsV1 = { 'f:data': { 'f:key': {}, 'f:old': {} } };
  const entry = {
    manager: 'argocd-controller',
    operation: 'Apply',
    apiVersion: 'v1',
    fieldsType: 'FieldsV1',
    fieldsV1,
  };
  const map = configMap(name);
  at.world.dest.put({
    ...map,
    metadata: { ...map.metadata, namespace: 'apps', managedFields: [entry] },
    data: { key: '1', old: 'secret-value' },
  });
}

/** The status as Argo CD leaves it. */
function putStatus(status: 'Synced' | 'OutOfSync'): void {
  const resources = ['one', 'two'].map((name) => ({
    version: 'v1',
    kind: 'ConfigMap',
    namespace: 'apps',
    name,
    status,
  }));
  at.world.edit(() => ({ status: { resources, sync: { status, revision } } }));
}

describe('fields that Git dropped before the switch from Argo CD', () => {
  it('are announced by one Event before the sync that removes them', async () => {
    putWithOldKey('one');
    at.world.application(automated);
    putStatus('Synced');
    await at.start();
    expect(at.world.dest.get('ConfigMap', 'one')?.['data']).toEqual({ key: '1' });
    expect(announced()).toEqual([
      'The next sync removes fields that Git does not contain from objects that were Synced: /ConfigMap/apps/one: /data/old',
    ]);
    const reasons = events().map(([reason]) => reason);
    expect(reasons.indexOf('RemovalPending')).toBeLessThan(reasons.indexOf('OperationStarted'));
    expect(JSON.stringify(events())).not.toContain('secret-value');
  });

  it('are announced without an automated sync too, and only once', async () => {
    putWithOldKey('one');
    at.world.application();
    putStatus('Synced');
    await at.start();
    await at.clock.advance(3_600_000);
    expect(at.world.app.status?.sync?.status).toBe('OutOfSync');
    expect(announced()).toHaveLength(1);
    expect(at.world.dest.get('ConfigMap', 'one')?.['data']).toEqual({ key: '1', old: 'secret-value' });
  });

  it('are not announced for objects that were OutOfSync, nor are changed values', async () => {
    putWithOldKey('one');
    at.world.dest.put({ ...configMap('two'), data: { key: 'by hand' } });
    at.world.application();
    putStatus('OutOfSync');
    await at.start();
    expect(announced()).toEqual([]);
  });
});
