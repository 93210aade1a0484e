import type { ProvenElsewhere } from './effect-types.ts';

/** Why the controller does not read a mark. */
interface ReadElsewhere {
  readonly reader: string;
}

const cli = { reader: "Argo CD's CLI, API server or UI, which stay" } as const;
const sets = { reader: "Argo CD's ApplicationSet controller, which stays" } as const;

/**
 * Annotations, labels and finalizers of Argo CD at the reference commit (common/common.go,
 * application_annotations.go, gitops-engine's common types, and the page of annotations): the test
 * that proves the effect of each, a row of docs/compatibility.md, or the program that reads it. A
 * data table.
 */
export const markEffects: Readonly<Record<string, ProvenElsewhere | ReadElsewhere | { readonly row: string }>> = {
  'app.kubernetes.io/instance': { test: 'model/tracking.test.ts', names: 'app.kubernetes.io/instance' },
  'applications.argoproj.io/app-name': { test: 'model/tracking.test.ts', names: 'applications.argoproj.io/app-name' },
  'argocd.argoproj.io/application-set-refresh': sets,
  'argocd.argoproj.io/auto-label-cluster-info': {
    test: 'controller/clusters/cluster-labels.test.ts',
    names: 'auto-label-cluster-info',
  },
  'argocd.argoproj.io/client-side-apply-migration-manager': {
    test: 'test/acceptance/migration.test.ts',
    names: 'client-side-apply-migration-manager',
  },
  'argocd.argoproj.io/compare-options': {
    test: 'test/acceptance/server-side-diff.test.ts',
    names: 'argocd.argoproj.io/compare-options',
  },
  'argocd.argoproj.io/deletion-approved': {
    test: 'controller/operation/deletion-marks.test.ts',
    names: 'annotations.deletionApproved',
  },
  'argocd.argoproj.io/hook': { test: 'test/acceptance/hooks.test.ts', names: "'argocd.argoproj.io/hook'" },
  'argocd.argoproj.io/hook-delete-policy': {
    test: 'test/acceptance/hooks.test.ts',
    names: 'argocd.argoproj.io/hook-delete-policy',
  },
  'argocd.argoproj.io/hook-finalizer': { test: 'sync/run.test.ts', names: 'argocd.argoproj.io/hook-finalizer' },
  'argocd.argoproj.io/hydrate': { test: 'controller/hydration/hydrator.test.ts', names: 'argocd.argoproj.io/hydrate' },
  'argocd.argoproj.io/hydrate-timestamp': {
    test: 'controller/hydration/hydrator.test.ts',
    names: 'argocd.argoproj.io/hydrate-timestamp',
  },
  'argocd.argoproj.io/ignore-default-links': { test: 'live/objects/networking.test.ts', names: 'ignore-default-links' },
  'argocd.argoproj.io/ignore-differences': {
    test: 'diff/ignore/annotated-rules.test.ts',
    names: 'annotations.ignoreDifferences',
  },
  'argocd.argoproj.io/ignore-healthcheck': { test: 'compare/store.test.ts', names: 'ignore-healthcheck' },
  'argocd.argoproj.io/ignore-resource-updates': {
    test: 'live/objects/stored-node.test.ts',
    names: 'argocd.argoproj.io/ignore-resource-updates',
  },
  'argocd.argoproj.io/ignore-restart-policy': { test: 'health/health.test.ts', names: 'ignore-restart-policy' },
  'argocd.argoproj.io/installation-id': { test: 'model/tracking.test.ts', names: 'annotations.installationId' },
  'argocd.argoproj.io/instance': { test: 'settings/parse.test.ts', names: 'application.instanceLabelKey' },
  'argocd.argoproj.io/kubernetes-version': {
    test: 'controller/clusters/cluster-labels.test.ts',
    names: 'kubernetes-version',
  },
  'argocd.argoproj.io/managed-by-url': { test: 'live/objects/details.test.ts', names: 'managed-by-url' },
  'argocd.argoproj.io/manifest-generate-paths': {
    test: 'desired/remote/signatures.test.ts',
    names: 'annotationManifestGeneratePaths',
  },
  'argocd.argoproj.io/refresh': { test: 'test/acceptance/git.test.ts', names: 'argocd.argoproj.io/refresh' },
  'argocd.argoproj.io/refresh-timestamp': {
    test: 'controller/application/refresh-annotation.test.ts',
    names: 'refresh-timestamp',
  },
  'argocd.argoproj.io/secret-type': {
    test: 'test/acceptance/secrets.test.ts',
    names: 'argocd.argoproj.io/secret-type',
  },
  'argocd.argoproj.io/skip-reconcile': {
    test: 'controller/clusters/cluster-caches.test.ts',
    names: 'argocd.argoproj.io/skip-reconcile',
  },
  'argocd.argoproj.io/sync-options': {
    test: 'test/acceptance/prune.test.ts',
    names: 'argocd.argoproj.io/sync-options',
  },
  'argocd.argoproj.io/sync-wave': { test: 'test/acceptance/waves.test.ts', names: 'argocd.argoproj.io/sync-wave' },
  'argocd.argoproj.io/tracking-id': { test: 'model/tracking.test.ts', names: 'argocd.argoproj.io/tracking-id' },
  'helm.sh/hook': { test: 'sync/hooks.test.ts', names: "'helm.sh/hook'" },
  'helm.sh/hook-delete-policy': { test: 'sync/hooks.test.ts', names: 'helm.sh/hook-delete-policy' },
  'helm.sh/hook-weight': { test: 'sync/hooks.test.ts', names: 'helm.sh/hook-weight' },
  'helm.sh/resource-policy': {
    test: 'controller/operation/deletion-marks.test.ts',
    names: 'annotations.helmResourcePolicy',
  },
  'kubectl.kubernetes.io/last-applied-configuration': {
    test: 'test/acceptance/migration.test.ts',
    names: 'last-applied-configuration',
  },
  'link.argocd.argoproj.io/': { test: 'live/objects/networking.test.ts', names: 'link.argocd.argoproj.io/' },
  'managed-by': { test: 'settings/clusters.test.ts', names: 'managed-by' },
  'notice.argocd.argoproj.io/': cli,
  'post-delete-finalizer.argocd.argoproj.io': {
    test: 'controller/operation/cascade.test.ts',
    names: 'post-delete-finalizer.argocd.argoproj.io',
  },
  'pre-delete-finalizer.argocd.argoproj.io': {
    test: 'controller/operation/deletion.test.ts',
    names: 'pre-delete-finalizer.argocd.argoproj.io',
  },
  'pref.argocd.argoproj.io/': cli,
  'resources-finalizer.argocd.argoproj.io': {
    test: 'controller/operation/deletion-marks.test.ts',
    names: 'finalizers.resources,',
  },
  'resources-finalizer.argocd.argoproj.io/background': {
    test: 'controller/operation/deletion-marks.test.ts',
    names: 'finalizers.resourcesBackground',
  },
  'resources-finalizer.argocd.argoproj.io/foreground': {
    test: 'controller/operation/deletion-marks.test.ts',
    names: 'finalizers.resourcesForeground',
  },
};
