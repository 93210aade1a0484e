import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#model';
import { fuzz } from '#support';
import type { FuzzTarget } from '#support';
import { parseClusterSecret, parseRepositorySecret, parseSettings, RepositoryIndex } from './index.ts';

const secret = (data: Readonly<Record<string, string>>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 's', namespace: 'argocd' },
  data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
});

const targets: readonly FuzzTarget[] = [
  {
    name: 'the configuration of a cluster',
    seeds: [
      '{"bearerToken":"x","tlsClientConfig":{"insecure":true,"caData":"YQ=="},"execProviderConfig":{"command":"c","args":["a"]}}',
    ],
    read: (text) =>
      parseClusterSecret(secret({ server: 'https://h', config: text.toString(), shard: text.toString() })),
  },
  {
    name: 'the server of a cluster',
    seeds: ['https://u:p@h:6443/k8s/', 'https://kubernetes.default.svc?x=1'],
    read: (text) => parseClusterSecret(secret({ server: text.toString(), name: text.toString() })),
  },
  {
    name: 'the URL of a repository',
    seeds: ['https://h/a.git', 'git@h:a.git', 'oci://h/a', 'https://h/a%20b'],
    read: (text) => {
      const entry = parseRepositorySecret(secret({ url: text.toString(), username: 'u', type: 'git' }));
      return new RepositoryIndex('error' in entry ? [] : [entry], []).find(text.toString(), 'p');
    },
  },
  {
    name: 'argocd-cm',
    seeds: [
      'apps/Deployment:\n  ignoreDifferences: |\n    jqPathExpressions: [.a]\n  health.lua: return {}\n',
      '- apiGroups: ["*"]\n',
    ],
    read: (text) => {
      const value = text.toString();
      return parseSettings({
        'resource.customizations': value,
        'resource.exclusions': value,
        'resource.compareoptions': value,
        'resource.customizations.ignoreDifferences.all': value,
        'timeout.reconciliation': value,
      });
    },
  },
];

describe('readers of settings', () => {
  it.each(targets)(
    '$name: returns in time, with a result or one of our errors',
    async (target) => {
      expect((await fuzz(target)).inputs).toBeGreaterThan(0);
    },
    120_000,
  );
});
