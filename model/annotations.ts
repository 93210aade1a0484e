import { parseGoBool } from '#base';

/**
 * Names of annotations, labels and finalizers (Argo CD: common/common.go,
 * application_annotations.go).
 */
export const annotations = {
  refresh: 'argocd.argoproj.io/refresh',
  refreshTimestamp: 'argocd.argoproj.io/refresh-timestamp',
  hydrate: 'argocd.argoproj.io/hydrate',
  hydrateTimestamp: 'argocd.argoproj.io/hydrate-timestamp',
  skipReconcile: 'argocd.argoproj.io/skip-reconcile',
  /** Not in Argo CD. Overrides --retry-latest-revision for one Application. */
  retryLatestRevision: 'driftless.io/retry-latest-revision',
  /** Not in Argo CD. Lets a deletion end although resources may be left behind. */
  leaveResources: 'driftless.io/leave-resources',
  /** Not in Argo CD. On an AppProject: the Secret whose keys decrypt the files of its sources. */
  decryption: 'driftless.io/decryption',
  manifestGeneratePaths: 'argocd.argoproj.io/manifest-generate-paths',
  compareOptions: 'argocd.argoproj.io/compare-options',
  clientSideApplyMigrationManager: 'argocd.argoproj.io/client-side-apply-migration-manager',
  deletionApproved: 'argocd.argoproj.io/deletion-approved',
  trackingId: 'argocd.argoproj.io/tracking-id',
  installationId: 'argocd.argoproj.io/installation-id',
  syncOptions: 'argocd.argoproj.io/sync-options',
  syncWave: 'argocd.argoproj.io/sync-wave',
  hook: 'argocd.argoproj.io/hook',
  hookDeletePolicy: 'argocd.argoproj.io/hook-delete-policy',
  ignoreHealthcheck: 'argocd.argoproj.io/ignore-healthcheck',
  ignoreDifferences: 'argocd.argoproj.io/ignore-differences',
  ignoreResourceUpdates: 'argocd.argoproj.io/ignore-resource-updates',
  helmHook: 'helm.sh/hook',
  helmHookWeight: 'helm.sh/hook-weight',
  helmHookDeletePolicy: 'helm.sh/hook-delete-policy',
  helmResourcePolicy: 'helm.sh/resource-policy',
  lastApplied: 'kubectl.kubernetes.io/last-applied-configuration',
  managedBy: 'managed-by',
} as const;

export const labels = {
  secretType: 'argocd.argoproj.io/secret-type',
  /** On a cluster Secret: "true" requests `kubernetesVersion`. */
  autoLabelClusterInfo: 'argocd.argoproj.io/auto-label-cluster-info',
  kubernetesVersion: 'argocd.argoproj.io/kubernetes-version',
  partOf: 'app.kubernetes.io/part-of',
  instance: 'app.kubernetes.io/instance',
  /** The tracking label of Argo CD before 0.11; some installations still use it. */
  legacyInstance: 'applications.argoproj.io/app-name',
} as const;

export const finalizers = {
  resources: 'resources-finalizer.argocd.argoproj.io',
  resourcesForeground: 'resources-finalizer.argocd.argoproj.io/foreground',
  resourcesBackground: 'resources-finalizer.argocd.argoproj.io/background',
  preDelete: 'pre-delete-finalizer.argocd.argoproj.io',
  postDelete: 'post-delete-finalizer.argocd.argoproj.io',
  hook: 'argocd.argoproj.io/hook-finalizer',
} as const;

/** The field manager of all writes of the controller. */
export const fieldManager = 'argocd-controller';

/** The field manager of `kubectl apply`, without server-side apply. */
export const clientSideManager = 'kubectl-client-side-apply';

/** The implicit cluster in which the controller runs. */
export const inClusterServer = 'https://kubernetes.default.svc';
export const inClusterName = 'in-cluster';

/** Whether the skip-reconcile annotation is true; values that are not booleans count as false. */
export function isReconcileSkipped(marks: Readonly<Record<string, string>> | undefined): boolean {
  return parseGoBool(marks?.[annotations.skipReconcile]) === true;
}
