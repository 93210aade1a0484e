/**
 * Rows of docs/compatibility.md that features point to, by their first cell. A test keeps the names
 * in step with the page.
 */
export const rows = {
  addresses: 'addresses of sources that programs read differently',
  otherTypes: 'config management plugins',
  execPlugins: 'Kustomize: generators, transformers and functions that run a program (KSOPS, `exec`)',
  generator: 'manifests come from',
  helmPlugins: 'Helm: values files by a plugin of helm (`secrets://` of helm-secrets, `s3://`)',
  repoServerVariables: 'variables of the repo-server, where the controller renders',
  shortSha: 'a short commit SHA',
  credentials: 'Google and Azure credentials, LFS',
  shortRefs: 'revisions without `refs/` (`heads/main`, `tags/v1`)',
  valuePatterns: 'Helm: a pattern of values files that matches directories (`envs/**`)',
  signatures:
    'signatures of commits and tags: `signatureKeys`, `sourceIntegrity` (`none`, `head`, `strict`, seals), ConfigMap `argocd-gpg-keys-cm`',
  hydrator: 'source hydrator',
  brokenRule: 'an ignore rule that cannot be evaluated (jq that is none, or too much work)',
  idleRule:
    'an ignore rule that does not do what it looks like (a pointer without its first slash, a malformed pattern)',
  updatesByJq: 'a jq program of `ignoreResourceUpdates` or of a system-level `ignoreDifferences` that only jq can run',
  selectors: '`resource.selectors`',
  serverSideDiff: 'server-side diff',
  luaHealth: 'health by Lua scripts',
  destination: 'Application whose destination cannot be resolved',
  respectIgnore: 'RespectIgnoreDifferences in lists',
  replace: 'Replace=true',
  migration: 'client-side to server-side migration of managed fields',
  namespaceMetadata: 'managedNamespaceMetadata',
  hooks: 'hooks',
  retries: 'retries of automated syncs',
  windows: 'sync windows',
  neverOpen: 'an allow window whose schedule never fires (30 February)',
  meaninglessWindow: 'a sync window with an unknown `kind` (`dney`), or a pattern that is no glob',
  longWindow: 'a schedule above 2000 characters, a duration above 200',
  unreadableProject: 'an AppProject that its schema would not let pass (texts for lists, numbers for texts)',
  missingGlobal: 'a global project that does not exist, or has an invalid selector',
  denyGlob: 'a deny entry of destinations, source repositories or kinds that is no glob (`![a`)',
  deniedName: 'a denied name of a cluster in `destinations`, with a namespace (`name: "!prod"`, `namespace: x`)',
  impersonation: 'impersonation',
  actions: 'resource actions',
  skipReconcile: '`argocd.argoproj.io/skip-reconcile` on an Application or a cluster Secret',
  namespaces: 'Applications in further namespaces',
  namespacePatterns: 'regular expressions between slashes (`sourceNamespaces`, `application.namespaces`)',
  cmLabel: 'argocd-cm, cluster, repository and repo-creds Secrets',
  respectRBAC: '`resource.respectRBAC`',
  malformed: 'a malformed entry that narrows nothing',
  missingSettings: 'a missing or emptied argocd-cm',
  narrowing: 'a setting that narrows what is written and cannot be read',
  inert: 'variables with nothing to change',
  services: '`--repo-server`, `--redis`',
  plugins: 'credential plugins of clusters (awsAuthConfig, execProviderConfig)',
  consistentHashing: 'consistent-hashing',
  pin: 'a pin in a cluster Secret',
  oneUrl: 'two Secrets with one URL',
  scopedCluster: 'a cluster Secret with `project`',
  dynamic: 'dynamic cluster distribution',
  versionLabel: '`argocd.argoproj.io/auto-label-cluster-info` on a cluster Secret',
  redis: 'Redis (resource tree, managed resources, cluster info)',
} as const;

/** Rows that only rendering finds. */
export const renderingRows = {
  encrypted: 'encrypted objects and values files (SOPS) in a project without keys',
} as const;

/** All requests are GET. */
export const localDiff = 'server-side diff: preflight and shadow mode compare on the client';

export type CompatibilityRow = (typeof rows)[keyof typeof rows] | (typeof renderingRows)['encrypted'];

/**
 * One use of a feature that Driftless lacks or implements differently. `refused`: reported in a
 * condition, and the objects are left alone. `differs`: the result is not Argo CD's. `info`:
 * clusters do not change, but there is something to know or to do.
 */
export interface UsedFeature {
  readonly feature: string;
  /** Object and field, or Secret or ConfigMap and key. Never a value, which may be secret. */
  readonly where: string;
  readonly severity: 'refused' | 'differs' | 'info';
  readonly row: CompatibilityRow;
}
