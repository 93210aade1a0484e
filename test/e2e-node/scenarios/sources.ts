import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { NodeApplication } from '../support/application.ts';
import type { Cluster } from '../support/cluster.ts';
import { runShell } from '../support/documented.ts';
import { Signer } from '../support/signer.ts';

const configMap = (data: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: ${data}\n`;

const rendered = [
  {
    name: 'with-helm',
    files: {
      'Chart.yaml': 'apiVersion: v2\nname: shop\nversion: 1.0.0\n',
      'values.yaml': 'a: default\nb: default\n',
      'templates/settings.yaml': configMap('{a: {{ .Values.a }}, b: {{ .Values.b }}, release: {{ .Release.Name }}}'),
    },
    source: { helm: { valuesObject: { a: 'object' } } },
    data: { a: 'object', b: 'default', release: 'with-helm' },
  },
  {
    name: 'with-kustomize',
    files: {
      'base/kustomization.yaml': 'resources: [settings.yaml]\n',
      'base/settings.yaml': configMap('{a: base, b: base}'),
      'kustomization.yaml': `resources: [base]\npatches:\n- patch: |\n${configMap('{a: patch}').replaceAll(/^/gm, '    ')}\n`,
    },
    source: { kustomize: { commonLabels: { team: 'shop' } } },
    data: { a: 'patch', b: 'base' },
  },
  {
    name: 'with-jsonnet',
    files: {
      'settings.jsonnet':
        "{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' }, data: { a: std.extVar('a') } }\n",
    },
    source: { directory: { jsonnet: { extVars: [{ name: 'a', value: 'variable' }] } } },
    data: { a: 'variable' },
  },
] as const;

/** Sources that programs of the image render or verify. */
export function sources(cluster: Cluster): void {
  it.each(rendered)('renders and repairs an Application $name', async ({ name, files, source, data }) => {
    const app = await NodeApplication.create(cluster.world, name, { files, source });
    await app.isGood();
    expect(await app.data()).toEqual(data);
    await app.heals();
    expect(await app.data()).toEqual(data);
  });

  it('deploys nothing of an unsigned commit, and the signed one after it, as docs/install.md says', async () => {
    const { world } = cluster;
    const signer = new Signer();
    try {
      const key = join(world.folder, 'ann.asc');
      signer.exportKey(key);
      await runShell(
        world,
        `kubectl -n argocd create configmap argocd-gpg-keys-cm --from-file=${signer.keyId}=${key}\n`,
      );
      const policy = { repos: [{ url: '*' }], gpg: { mode: 'head', keys: [signer.keyId] } };
      await world.hub.api.create('/apis/argoproj.io/v1alpha1/namespaces/argocd/appprojects', {
        apiVersion: 'argoproj.io/v1alpha1',
        kind: 'AppProject',
        metadata: { name: 'signed', namespace: 'argocd' },
        spec: {
          sourceRepos: ['*'],
          destinations: [{ server: '*', namespace: '*' }],
          clusterResourceWhitelist: [{ group: '', kind: 'Namespace' }],
          sourceIntegrity: { git: { policies: [policy] } },
        },
      });
      const app = await NodeApplication.create(world, 'signed', { project: 'signed' });
      await app.hasCondition('GIT/GPG');
      expect(await app.deployed()).toBeUndefined();
      signer.signLast(app.git.path);
      await runShell(world, 'kubectl -n argocd annotate application signed argocd.argoproj.io/refresh=normal\n');
      await app.isGood();
      await app.heals();
    } finally {
      signer.end();
    }
  });
}
