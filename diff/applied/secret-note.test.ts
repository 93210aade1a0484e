import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { diffObjects } from '../comparison/diff.ts';
import { clientSideApplyPatch, predictApply } from './client-side-apply.ts';
import { withLastApplied } from '../patch/last-applied.ts';

const key = 'kubectl.kubernetes.io/last-applied-configuration';
const canary = 'YzRuYXJ5LWh1bnRlcjI=';
const secret = (data: Record<string, string>, more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 's', namespace: 'apps' },
  data,
  ...more,
});
const annotationOf = (object: KubeObject): string => object.metadata.annotations?.[key] ?? '';
/** The annotation as kubectl and Argo CD write it. */
const plainly = (object: KubeObject): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, annotations: { [key]: `${JSON.stringify(object)}\n` } },
});
const rules = { settings: defaultSettings, ignoreDifferences: [] };
const dataAfter = (target: KubeObject, live: KubeObject): unknown => predictApply(target, live)['data'];

// T-SEC-3
describe('the last-applied annotation of a Secret', () => {
  // T-SEC-3
  it('has the keys, and no value of data or stringData', () => {
    const made = withLastApplied(secret({ a: canary, b: '' }, { stringData: { c: 'c4nary' } }));
    expect(JSON.parse(annotationOf(made))).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's', namespace: 'apps', annotations: {} },
      data: { a: '', b: '', c: '' },
    });
    expect(made['data']).toEqual({ a: canary, b: '', c: Buffer.from('c4nary').toString('base64') });
  });

  // T-SEC-3
  it('loses the values written by others with the next apply', () => {
    const target = secret({ a: canary });
    const patch = clientSideApplyPatch(target, plainly(target));
    expect(JSON.stringify(patch)).not.toContain(canary);
    expect(annotationOf(predictApply(target, plainly(target)))).not.toContain(canary);
    expect(clientSideApplyPatch(target, withLastApplied(target))).toBeUndefined();
  });

  // T-SEC-3
  it('keeps the values of other kinds', () => {
    const map = { ...secret({ a: 'value' }), kind: 'ConfigMap' };
    expect(annotationOf(withLastApplied(map))).toContain('value');
    const sealed = { ...secret({ a: 'value' }), apiVersion: 'bitnami.com/v1' };
    expect(annotationOf(withLastApplied(sealed))).toContain('value');
  });

  // T-SEC-3
  it('has the same effect without values: deletes what Git drops and keeps what others add', () => {
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
