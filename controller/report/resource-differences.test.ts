import { describe, expect, it } from '@jest/globals';
import type { ResourceComparison } from '#compare';
import { defaultSettings, keyOf } from '#model';
import type { Application, KubeObject } from '#model';
import { describeDifference } from './resource-differences.ts';

const named: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'apps' } };

/** A row whose objects were dropped. */
function trimmedRow(target: KubeObject | null, live: KubeObject | null, paths: readonly string[]): ResourceComparison {
  const diff = { modified: true, normalizedLive: live, predictedLive: target, paths, faults: [], undecided: false };
  return {
    key: keyOf(named),
    hook: false,
    own: true,
    diff,
    isTrimmed: true,
    health: null,
    status: { version: 'v1', kind: 'ConfigMap', namespace: 'apps', name: 'a', status: 'OutOfSync' },
    makesOutOfSync: true,
    isUnknown: false,
    conditions: [],
    spent: 0,
    isVolatile: false,
  };
}

describe('a difference whose objects were not kept', () => {
  const facts = {
    app: { metadata: { name: 'a' }, spec: {} } as unknown as Application,
    settings: defaultSettings,
    live: new Map(),
    permits: () => true,
    rivals: new Map(),
    hasManifest: true,
  };

  it.each<[string, ResourceComparison, readonly string[]]>([
    ['modified', trimmedRow(named, named, ['/data/a', '/data/b']), ['/data/a, /data/b, its values are not shown']],
    ['missing', trimmedRow(named, null, []), ['its values are not shown']],
    ['extra', trimmedRow(null, named, []), ['its values are not shown']],
  ])('has its paths and a text instead of values: %s', (state, row, texts) => {
    const { faults, ...found } = describeDifference(row, facts);
    expect(found).toMatchObject({ state, name: 'a', fields: [] });
    expect(found).not.toHaveProperty('manifest');
    expect(faults.map((text) => text.split(':')[0])).toEqual(texts);
  });
});
