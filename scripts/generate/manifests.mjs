// Writes manifests/install.yaml, namespace-install.yaml and the overlays from the chart, so that
// both ways to install give the same objects. With --check it writes nothing, names stale files and
// exits with 1 if there are any. Needs helm 3.8 or newer: $HELM, else the one on PATH.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import { put } from './generated.mjs';
import { root } from '../root.mjs';

const home = mkdtempSync(join(tmpdir(), 'driftless-manifests-'));

// install.yaml has no `replicas`: applying it again must not undo `kubectl scale`. Overlays set it.
const cluster = { rbac: { clusterWrite: true }, controller: { replicas: 'live' } };
const hashing = { sharding: { algorithm: 'consistent-hashing' } };
const apart = { maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'DoNotSchedule' };
const files = {
  'install.yaml': {
    what: `The whole cluster: CRDs, rights to change everything in this cluster, one replica. kubectl cannot
# create an AppProject in the same run as its CRD: apply crds/ first, or this file twice.`,
    values: cluster,
  },
  'namespace-install.yaml': {
    what: 'Rights in the namespace argocd only. An administrator of the cluster must apply the CRDs in crds/ first.',
    values: { ...cluster, rbac: { namespaced: true }, crds: { install: false } },
  },
  ...overlay('ha', 'Three replicas on three nodes, with consistent hashing.', {
    ...cluster,
    controller: { replicas: 3, ...hashing, topologySpreadConstraints: [apart] },
  }),
  ...overlay('dynamic', 'A Deployment with three replicas that claim shards, and consistent hashing.', {
    ...cluster,
    controller: { replicas: 3, ...hashing, dynamicClusterDistribution: true },
  }),
  ...overlay(
    'drop-in',
    'Replaces the application controller of an Argo CD in the namespace argocd: scale that one to 0 first.',
    {
      ...cluster,
      dropIn: true,
    },
  ),
  'cluster-names.yaml': {
    what: `Kustomize replacements: name the ClusterRole and its binding after the namespace, so that
# installations in two namespaces do not overwrite each other's.`,
    text: dump(clusterNames(), { lineWidth: -1 }),
  },
};

/** Kustomize replaces the namespace, but not the names that contain it. */
function clusterNames() {
  const target = (kind, ...fieldPaths) => ({
    select: { kind, name: 'argocd-driftless' },
    fieldPaths,
    options: { delimiter: '-driftless', index: 0 },
  });
  return [
    {
      source: { kind: 'ServiceAccount', name: 'driftless', fieldPath: 'metadata.namespace' },
      targets: [target('ClusterRole', 'metadata.name'), target('ClusterRoleBinding', 'metadata.name', 'roleRef.name')],
    },
  ];
}

/** A kustomization without CRDs: all overlays share those in crds/. */
function overlay(name, what, values) {
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: ['install.yaml'],
  };
  return {
    [`overlays/${name}/install.yaml`]: {
      what: values.dropIn ? what : `${what} Apply the CRDs first: kubectl apply -f manifests/crds`,
      values: { ...values, crds: { install: false } },
    },
    [`overlays/${name}/kustomization.yaml`]: { what, text: dump(kustomization) },
  };
}

function rendered(values) {
  const args = ['template', 'driftless', join(root, 'charts', 'driftless'), '--namespace', 'argocd', '--values', '-'];
  const text = helm(args, JSON.stringify(values));
  return inOrder(
    text
      .split(/^---$/m)
      .map(plain)
      .filter((document) => document !== ''),
  );
}

function helm(args, input) {
  const env = { ...process.env, HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home };
  const result = spawnSync(process.env.HELM ?? 'helm', args, { env, input, encoding: 'utf8', maxBuffer: 1 << 26 });
  if (result.status === 0) return result.stdout;
  throw new Error(
    result.error?.code === 'ENOENT' ? 'helm is not on PATH: install it, or name it in $HELM' : `helm: ${result.stderr}`,
  );
}

/** Removes comments, labels and annotations that only Helm understands. */
function plain(document) {
  return document
    .replaceAll(/^# Source: .*\n/gm, '')
    .replaceAll(/^ +app.kubernetes.io\/managed-by: Helm\n/gm, '')
    .replaceAll(/^ +helm.sh\/(?:chart|hook|resource-policy): .*\n/gm, '')
    .replaceAll(/^ +argocd.argoproj.io\/hook(?:-delete-policy)?: .*\n/gm, '')
    .replaceAll(/^( +)annotations:\n(?!\1 )/gm, '')
    .trim();
}

/** kubectl applies from top to bottom: CRDs come first, objects of their kinds last. */
function inOrder(documents) {
  const rank = (document) =>
    /^kind: CustomResourceDefinition$/m.test(document) ? 0 : /^kind: AppProject$/m.test(document) ? 2 : 1;
  return [...documents].sort((a, b) => rank(a) - rank(b));
}

try {
  for (const [name, { what, values, text }] of Object.entries(files)) {
    const head = `# ${what}\n# Written by scripts/generate/manifests.mjs from charts/driftless: change it there.\n`;
    put(
      join(root, 'manifests', name),
      head +
        (text ??
          rendered(values)
            .map((document) => `---\n${document}\n`)
            .join('')),
    );
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}
