import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '#base';
import { KubeApiError } from '#kube';
import type { KubeObject } from '#model';
import { configMap } from '../testing/fake-world.ts';
import { cascade, failed, hook, succeeded } from '../testing/manifests.ts';
import { tidyStage } from '../testing/stage.ts';

const at = tidyStage();
const postDelete = 'post-delete-finalizer.argocd.argoproj.io';
const preDelete = 'pre-delete-finalizer.argocd.argoproj.io';
const isGone = (): boolean => at.world.hub.get('Application', 'demo') === undefined;

const job = (name: string, type: string, status: JsonObject = {}): KubeObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name, namespace: 'apps', annotations: hook(type) },
  spec: {},
  status,
});

/** As a real API server: no object is created in a namespace that is gone. */
function refuseWithoutNamespace(call: string): void {
  if (!call.startsWith('create Job') || at.world.dest.get('Namespace', 'apps') !== undefined) return;
  throw new KubeApiError({ code: 404, reason: 'NotFound', message: 'namespaces "apps" not found' }, call);
}

describe('a deletion with hooks', () => {
  it('runs PostDelete hooks in a namespace of the Application, which it deletes after them', async () => {
    const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'apps' } };
    at.world.git.push('a'.repeat(40), [namespace, configMap('one'), job('after', 'PostDelete', succeeded)]);
    at.world.application({}, { operation: { sync: {} } });
    await at.start({ dest: { before: refuseWithoutNamespace } });
    expect(at.names()).toEqual(['apps', 'one']);
    at.setDeleting([cascade, postDelete]);
    await at.pass(30);
    expect(isGone()).toBe(true);
    expect(at.world.dest.calls).toContain('create Job after');
    expect(at.world.dest.get('Namespace', 'apps')).toBeUndefined();
    expect(at.world.dest.get('ConfigMap', 'one')).toBeUndefined();
  });

  it('keeps a failed PreDelete hook until the next attempt', async () => {
    at.world.git.push('a'.repeat(40), [configMap('one'), job('before', 'PreDelete', failed)]);
    at.world.application({}, { operation: { sync: {} } });
    await at.start();
    at.setDeleting([cascade, preDelete]);
    await at.pass(40);
    expect(at.names()).toEqual(['before', 'one']);
    expect(at.world.app.status?.conditions).toEqual([
      expect.objectContaining({ type: 'DeletionError', message: 'PreDelete hook(s) failed: apps/before' }),
    ]);
    at.world.git.push('b'.repeat(40), [configMap('one'), job('before', 'PreDelete', succeeded)]);
    await at.pass(120);
    expect(isGone()).toBe(true);
  });
});
