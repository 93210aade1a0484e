import { describe, expect, it } from '@jest/globals';
import { mergeOverride } from './override.ts';

const source = {
  repoURL: 'r',
  helm: {
    releaseName: 'spec',
    parameters: [
      { name: 'a', value: '1', forceString: true },
      { name: 'b', value: '2' },
    ],
    valuesObject: { x: { a: 1, b: 2 }, y: 1 },
  },
  kustomize: { commonLabels: { Team: 'spec', a: '1' }, patches: [{ target: { kind: 'A' }, patch: 'one' }] },
};

describe('override files', () => {
  it('match field names in any letter case, but keep the case of arbitrary keys', () => {
    const patch = {
      Helm: { ReleaseName: 'file', parameters: [{ Name: 'c', value: '3', forcestring: true }] },
      kustomize: { commonlabels: { team: 'file' } },
    };
    expect(mergeOverride({ repoURL: 'r' }, patch)).toEqual({
      repoURL: 'r',
      helm: { releaseName: 'file', parameters: [{ name: 'c', value: '3', forceString: true }] },
      kustomize: { commonLabels: { team: 'file' } },
    });
    expect(mergeOverride(source, patch)).toMatchObject({ kustomize: { commonLabels: { Team: 'spec', team: 'file' } } });
  });

  it('stand beside a field of the source in other letters: the later one in byte order wins', () => {
    const release = (patch: object): unknown =>
      (mergeOverride(source, patch as never)['helm'] as { releaseName: string }).releaseName;
    expect([release({ helm: { ReleaseName: 'file' } }), release({ Helm: { releaseName: 'file' } })]).toEqual([
      'spec',
      'spec',
    ]);
    expect(release({ helm: { releasename: 'file' } })).toBe('file');
    expect(mergeOverride(source, { Helm: { version: 'v3' } })['helm']).toEqual({ ...source.helm, version: 'v3' });
  });

  it('remove a value by null only inside valuesObject', () => {
    const patch = {
      helm: { releaseName: null, parameters: null, valuesObject: { x: { a: null }, z: 3 } },
      kustomize: { commonLabels: { a: null }, patches: null },
    };
    expect(mergeOverride(source, patch)).toEqual({
      ...source,
      helm: { ...source.helm, valuesObject: { x: { b: 2 }, y: 1, z: 3 } },
    });
    expect(mergeOverride(source, { helm: null, kustomize: null })).toEqual(source);
  });

  it.each([
    [{ helm: { parameters: 'text' } }, 'helm.parameters must be a list, not a value'],
    [{ helm: { valuesObject: [1] } }, 'helm.valuesObject must be an object, not a list'],
    [{ Kustomize: { nameprefix: {} } }, 'kustomize.namePrefix must be a value, not an object'],
    [{ helm: { parameters: [{ value: [] }] } }, 'helm.parameters.value must be a value, not a list'],
    [{ directory: 'x' }, 'directory must be an object, not a value'],
  ])('refuse %j', (patch, message) => {
    expect(() => mergeOverride({ repoURL: 'r' }, patch)).toThrow(message);
  });

  it('merge list items by index, and shorten the list', () => {
    const patch = {
      helm: { parameters: [{ name: 'a', value: '9' }] },
      kustomize: { patches: [{ patch: 'two', target: { name: 'n' } }, { path: 'p' }] },
    };
    expect(mergeOverride(source, patch)).toMatchObject({
      helm: { parameters: [{ name: 'a', value: '9', forceString: true }] },
      kustomize: { patches: [{ target: { kind: 'A', name: 'n' }, patch: 'two' }, { path: 'p' }] },
    });
    expect((mergeOverride(source, patch)['helm'] as typeof source.helm).parameters).toHaveLength(1);
  });
});
