import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { clientSideApplyPatch, diffObjects, predictApply, withLastApplied } from './index.ts';

const key = 'kubectl.kubernetes.io/last-applied-configuration';
const canary = 'YzRuYXJ5LWh1bnRlcjI=';
const secret = (data: Record<string, string>, more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 's', namespace: 'apps' },
  data,
  ...more,
});
const noteOf = (object: KubeObject): string => object.metadata.annotations?.[key] ?? '';
/** What kubectl and Argo CD write. */
const plainly = (object: KubeObject): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, annotations: { [key]: `${JSON.stringify(object)}\n` } },
});
const rules = { settings: defaultSettings, ignoreDifferences: [] };
const dataAfter = (target: KubeObject, live: KubeObject): unknown => predictApply(target, live)['data'];

describe('14.3: T-SEC-3: the note that client-side apply leaves on a Secret', () => {
  it('14.3: T-SEC-3: has the keys, and no value of data or stringData', () => {
    const made = withLastApplied(secret({ a: canary, b: '' }, { stringData: { c: 'c4nary' } }));
    expect(JSON.parse(noteOf(made))).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's', namespace: 'apps', annotations: {} },
      data: { a: '', b: '' },
      stringData: { c: '' },
    });
    expect(made['data']).toEqual({ a: canary, b: '' });
  });

  it('14.3: T-SEC-3: that others left is written anew with the next apply', () => {
    const target = secret({ a: canary });
    const patch = clientSideApplyPatch(target, plainly(target));
    expect(JSON.stringify(patch)).not.toContain(canary);
    expect(noteOf(predictApply(target, plainly(target)))).not.toContain(canary);
    expect(clientSideApplyPatch(target, withLastApplied(target))).toBeUndefined();
  });

  it('14.3: T-SEC-3: of other kinds is as it was', () => {
    const map = { ...secret({ a: 'value' }), kind: 'ConfigMap' };
    expect(noteOf(withLastApplied(map))).toContain('value');
    const sealed = { ...secret({ a: 'value' }), apiVersion: 'bitnami.com/v1' };
    expect(noteOf(withLastApplied(sealed))).toContain('value');
  });

  it('14.3: T-SEC-3: deletes what Git drops, keeps what others add, and differs in nothing, as with values in it', () => {
    const values = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('eA==', 'eQ==', ''));
    fc.assert(
      fc.property(values, values, values, (applied, wanted, added) => {
        const before = secret(applied);
        const target = secret(wanted);
        const live = (note: KubeObject): KubeObject => ({ ...note, data: { ...added, ...applied } });
        expect(dataAfter(target, live(withLastApplied(before)))).toEqual(dataAfter(target, live(plainly(before))));
        expect(diffObjects(target, live(withLastApplied(before)), rules).modified).toBe(
          diffObjects(target, live(plainly(before)), rules).modified,
        );
      }),
    );
  });
});
