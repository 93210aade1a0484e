import { describe, expect, it } from '@jest/globals';
import type { ApiDiscovery } from '#kube';
import type { ApiResource } from '#model';
import { DiscoveryMemory, plainVersion } from './discovery.ts';

const kind = (group: string, version: string, name: string): ApiResource => ({
  group,
  version,
  kind: name,
  resource: `${name.toLowerCase()}s`,
  namespaced: true,
  verbs: ['list', 'watch'],
  subresources: [],
  shortNames: [],
});
const map = kind('', 'v1', 'ConfigMap');
const widget = kind('acme.io', 'v1', 'Widget');

function discovery(kinds: readonly ApiResource[], failed: Readonly<Record<string, string>> = {}): ApiDiscovery {
  const versions = kinds.map(({ group, version }) => (group === '' ? version : `${group}/${version}`));
  return {
    preferred: kinds,
    served: kinds,
    apiVersions: [...new Set([...versions, ...kinds.map((one, i) => `${versions[i] ?? ''}/${one.kind}`)])].sort(),
    failedGroups: new Map(Object.entries(failed)),
  };
}

describe('an API group that goes stale while the controller runs', () => {
  it.each([
    ['by its name', 'acme.io'],
    ['with all others', '*'],
  ])('is reported to charts as before (unread %s), so that they render the same', (_how, failed) => {
    const memory = new DiscoveryMemory();
    const whole = memory.complete(discovery([map, widget]));
    expect(whole.apiVersions).toEqual(['acme.io/v1', 'acme.io/v1/Widget', 'v1', 'v1/ConfigMap']);
    for (let i = 0; i < 3; i += 1)
      expect(memory.complete(discovery([map], { [failed]: 'stale' })).apiVersions).toEqual(whole.apiVersions);
    expect(memory.complete(discovery([map])).apiVersions).toEqual(['v1', 'v1/ConfigMap']);
  });
});

it.each([
  ['v1.30.11+IKS', 'v1.30.11'],
  ['v1.33.0-alpha.1', 'v1.33.0'],
  ['1.29', 'v1.29'],
  ['weird', 'weird'],
])('plainVersion(%s) is %s', (text, expected) => {
  expect(plainVersion(text)).toBe(expected);
});
