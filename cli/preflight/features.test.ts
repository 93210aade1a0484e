import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parseYamlDocuments } from '#base';
import type { Json } from '#base';
import { asApplication, asProject, labels } from '#model';
import type { AppProject, Application, KubeObject } from '#model';
import { clusterList, parseClusterSecret, parseSettings } from '#settings';
import type { ParsedCluster } from '#settings';
import { repositoryFacts, workloadFacts } from './facts.ts';
import type { InstallationFacts } from './facts.ts';
import { applicationFeatures, installationFeatures } from './features.ts';
import { renderingRows, rows } from './rows.ts';
import type { UsedFeature } from './rows.ts';

type Data = Readonly<Record<string, string>>;
const canary = 'CANARY-of-a-credential';

function secret(name: string, type: string, data: Data): KubeObject {
  const encoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
  const metadata = { name, namespace: 'argocd', uid: `uid-${name}`, labels: { [labels.secretType]: type } };
  return { apiVersion: 'v1', kind: 'Secret', metadata, data: Object.fromEntries(encoded) as Json };
}

function cluster(data: Data, annotations: Data = {}, more: Data = {}): ParsedCluster {
  const object = secret('cluster', 'cluster', { server: 'https://dest', name: 'dest', config: '{}', ...data });
  const metadata = { ...object.metadata, annotations, labels: { ...object.metadata.labels, ...more } };
  const parsed = parseClusterSecret({ ...object, metadata });
  if ('error' in parsed) throw new Error(parsed.error);
  return parsed;
}

interface Given {
  readonly cm?: Data;
  readonly labelled?: boolean;
  readonly hasSettings?: boolean;
  readonly params?: Data;
  readonly clusters?: readonly ParsedCluster[];
  readonly repositories?: readonly KubeObject[];
  readonly templates?: readonly KubeObject[];
  readonly project?: object;
  readonly workload?: KubeObject;
  readonly repoServer?: KubeObject;
}

function installation(given: Given = {}): InstallationFacts {
  const { settings, problems, notes: weaker } = parseSettings(given.cm ?? {});
  const facts = (list: readonly KubeObject[] | undefined, template: boolean): InstallationFacts['repositories'] =>
    (list ?? []).map((each) => repositoryFacts(each, template)!);
  const project = asProject({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'AppProject',
    metadata: { name: 'default', namespace: 'argocd' },
    spec: given.project ?? {},
  });
  return {
    namespace: 'argocd',
    settings,
    problems,
    weaker,
    labelled: given.labelled ?? true,
    hasSettings: given.hasSettings ?? true,
    params: given.params ?? {},
    clusters: clusterList(given.clusters ?? [], true),
    repositories: [...facts(given.repositories, false), ...facts(given.templates, true)],
    projects: new Map<string, AppProject>([['default', project]]),
    applications: [],
    workload: given.workload === undefined ? undefined : workloadFacts(given.workload),
    repoServer: given.repoServer === undefined ? undefined : workloadFacts(given.repoServer),
  };
}

const git = 'https://git.example.com/team/app.git';

function application(spec: object = {}, more: object = {}): Application {
  return asApplication({
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: 'app', namespace: 'argocd' },
    spec: {
      project: 'default',
      source: { repoURL: git, path: 'deploy', targetRevision: 'main' },
      destination: { server: 'https://kubernetes.default.svc', namespace: 'apps' },
      ...spec,
    },
    ...more,
  });
}

const source = (more: object): object => ({ source: { repoURL: git, path: 'deploy', ...more } });
const annotated = (annotations: Data): object => ({ metadata: { name: 'app', namespace: 'argocd', annotations } });
const brief = (features: readonly UsedFeature[]): readonly (readonly [string, string, string])[] =>
  features.map(({ severity, row, where }) => [severity, row, where] as const);

type Expected = readonly (readonly [UsedFeature['severity'], string, string])[];
type AppCase = readonly [name: string, app: Application, expected: Expected, given: Given];
const uses = (name: string, object: Application, expected: Expected = [], given: Given = {}): AppCase => [
  name,
  object,
  expected,
  given,
];

const appCases: readonly AppCase[] = [
  uses('plain YAML in Git uses nothing', application()),
  uses('a Directory source that says so', application(source({ directory: { recurse: true } }))),
  uses('Helm is rendered', application(source({ helm: { values: canary } }))),
  uses('a null member is none', application(source({ helm: null, kustomize: null }))),
  uses('Kustomize is rendered', application(source({ kustomize: { namePrefix: 'a-' } }))),
  uses('a plugin', application(source({ plugin: { name: 'cmp' } })), [
    ['differs', rows.otherTypes, 'spec.source.plugin'],
  ]),
  uses('Jsonnet', application(source({ directory: { jsonnet: { libs: ['vendor'] } } }))),
  uses(
    'values and file parameters by plugins of helm',
    application(
      source({
        helm: { valueFiles: ['secrets://a.yaml', 'https://h/x'], fileParameters: [{ name: 'a', path: 's3://b/c' }] },
      }),
    ),
    [
      ['refused', rows.helmPlugins, 'spec.source.helm.valueFiles[0]'],
      ['refused', rows.helmPlugins, 'spec.source.helm.fileParameters[0]'],
    ],
    { cm: { 'helm.valuesFileSchemes': 'https,secrets,s3' } },
  ),
  uses(
    'values by plugins of helm, in the dry source of a hydrator',
    application({
      source: undefined,
      sourceHydrator: {
        drySource: {
          repoURL: git,
          path: 'a',
          targetRevision: 'HEAD',
          helm: { valueFiles: ['secrets+age-import://k?a.yaml'] },
        },
        syncSource: { targetBranch: 'env/prod', path: 'a' },
      },
    }),
    [
      ['info', rows.hydrator, 'spec.sourceHydrator'],
      ['refused', rows.helmPlugins, 'spec.sourceHydrator.drySource.helm.valueFiles[0]'],
    ],
    { cm: { 'helm.valuesFileSchemes': 'secrets+age-import' } },
  ),
  uses('a revision that Argo CD does not resolve', application(source({ targetRevision: 'heads/main' })), [
    ['differs', rows.shortRefs, 'spec.source.targetRevision'],
  ]),
  uses(
    'a pattern of values files that matches directories',
    application(source({ helm: { valueFiles: ['envs/**', 'envs/**/*.yaml', 'a?', '$values/x/**'] } })),
    [
      ['differs', rows.valuePatterns, 'spec.source.helm.valueFiles[0]'],
      ['differs', rows.valuePatterns, 'spec.source.helm.valueFiles[3]'],
    ],
  ),
  uses(
    'plugins of kustomize for an Application that kustomize renders',
    application({}, { status: { sourceType: 'Kustomize' } }),
    [['differs', rows.execPlugins, 'spec.source.path']],
    { cm: { 'kustomize.buildOptions': '--enable-helm --enable-alpha-plugins --enable-exec' } },
  ),
  uses(
    'plugins of kustomize for an Application of plain YAML',
    application({}, { status: { sourceType: 'Directory' } }),
    [],
    { cm: { 'kustomize.buildOptions': '--enable-alpha-plugins' } },
  ),
  uses('plugins of kustomize that are off', application(source({ kustomize: { namePrefix: 'a-' } })), [], {
    cm: { 'kustomize.buildOptions': '--enable-alpha-plugins=false' },
  }),
  uses('a chart', application(source({ chart: 'redis', path: undefined }))),
  uses('OCI', application({ source: { repoURL: 'oci://r.example.com/x' } })),
  uses(
    'addresses that programs read differently',
    application({
      source: undefined,
      sources: [
        { repoURL: 'https://git.example.com/team/../other/app.git', path: 'a' },
        { repoURL: 'https://charts.example.com/x%2Fy', chart: 'c', targetRevision: '1.0.0' },
        { repoURL: git, path: 'a', helm: { valueFiles: ['a.yaml', 'https://files.example.com\\x'] } },
        { repoURL: git, path: 'a', helm: { fileParameters: [{ name: 'a', path: 'https://files.example.com/./x' }] } },
      ],
    }),
    [
      ['refused', rows.addresses, 'spec.sources[0].repoURL'],
      ['refused', rows.addresses, 'spec.sources[1].repoURL'],
      ['refused', rows.addresses, 'spec.sources[2].helm.valueFiles[1]'],
      ['refused', rows.addresses, 'spec.sources[3].helm.fileParameters[0]'],
    ],
  ),
  uses('a plugin that only rendering finds', application({}, { status: { sourceType: 'Plugin' } }), [
    ['differs', rows.otherTypes, 'spec.source.path'],
  ]),
  uses(
    'one of several sources, found by rendering',
    application(
      {
        source: undefined,
        sources: [
          { repoURL: git, path: 'a' },
          { repoURL: git, path: 'b' },
        ],
      },
      { status: { sourceTypes: ['Directory', 'Plugin'] } },
    ),
    [['differs', rows.otherTypes, 'spec.sources[1].path']],
  ),
  uses(
    'value files from another source',
    application({
      source: undefined,
      sources: [
        { repoURL: git, chart: 'c' },
        { repoURL: git, ref: 'values' },
      ],
    }),
  ),
  uses('a short SHA', application(source({ targetRevision: 'abc1234' })), [
    ['info', rows.shortSha, 'spec.source.targetRevision'],
  ]),
  uses('a full SHA is none', application(source({ targetRevision: 'a'.repeat(40) }))),
  uses(
    'a hydrator',
    application({
      source: undefined,
      sourceHydrator: {
        drySource: { repoURL: git, path: 'a', targetRevision: 'main' },
        syncSource: { targetBranch: 'env', path: 'a' },
      },
    }),
    [['info', rows.hydrator, 'spec.sourceHydrator']],
  ),
  uses('a GitHub App', application(), [], {
    repositories: [secret('repo', 'repository', { url: git, githubAppPrivateKey: canary, githubAppID: '1' })],
  }),
  uses('credentials that a template lends', application(), [['differs', rows.credentials, 'Secret argocd/creds']], {
    templates: [
      secret('creds', 'repo-creds', { url: 'https://git.example.com/team', useAzureWorkloadIdentity: 'true' }),
    ],
  }),
  uses('a template of another host lends nothing', application(), [], {
    templates: [secret('creds', 'repo-creds', { url: 'https://other.example.com', useAzureWorkloadIdentity: 'true' })],
  }),
  uses('own credentials need no template', application(), [], {
    repositories: [secret('repo', 'repository', { url: git, username: 'u', password: canary })],
    templates: [secret('creds', 'repo-creds', { url: 'https://git.example.com', useAzureWorkloadIdentity: 'true' })],
  }),
  uses('a Secret of another project says nothing', application(), [], {
    repositories: [secret('repo', 'repository', { url: git, project: 'other', useAzureWorkloadIdentity: 'true' })],
  }),
  uses('Google', application(), [], {
    repositories: [secret('repo', 'repository', { url: git, gcpServiceAccountKey: canary })],
  }),
  uses('Azure workload identity', application(), [['differs', rows.credentials, 'Secret argocd/repo']], {
    repositories: [secret('repo', 'repository', { url: git, useAzureWorkloadIdentity: 'true' })],
  }),
  uses('Azure that is switched off, LFS that is on', application(), [], {
    repositories: [secret('repo', 'repository', { url: git, useAzureWorkloadIdentity: 'false', enableLfs: 'true' })],
  }),
  uses('LFS over ssh', application({ source: { repoURL: 'git@git.example.com:team/app.git', path: 'a' } }), [], {
    repositories: [secret('repo', 'repository', { url: 'git@git.example.com:team/app.git', enableLfs: 'true' })],
  }),
  uses('ssh behind a proxy', application({ source: { repoURL: 'git@git.example.com:team/app.git', path: 'a' } }), [], {
    repositories: [secret('repo', 'repository', { url: 'git@git.example.com:team/app.git', proxy: 'socks5://p' })],
  }),
  uses(
    'server-side diff',
    application(
      {},
      annotated({ 'argocd.argoproj.io/compare-options': 'IncludeMutationWebhook=true, ServerSideDiff=true' }),
    ),
    [['info', rows.serverSideDiff, 'metadata.annotations["argocd.argoproj.io/compare-options"]']],
  ),
  uses(
    'server-side diff that is off',
    application({}, annotated({ 'argocd.argoproj.io/compare-options': 'ServerSideDiff=false' })),
  ),
  uses(
    'server-side apply, which takes over fields',
    application({ syncPolicy: { syncOptions: ['ServerSideApply=true'] } }),
    [['info', rows.migration, 'spec.syncPolicy.syncOptions']],
  ),
  uses(
    'server-side apply that takes over nothing',
    application({ syncPolicy: { syncOptions: ['ServerSideApply=true', 'ClientSideApplyMigration=false'] } }),
  ),
  uses(
    'Replace, which wins over server-side apply',
    application({ syncPolicy: { syncOptions: ['ServerSideApply=true', 'Replace=true'] } }),
    [['info', rows.replace, 'spec.syncPolicy.syncOptions']],
  ),
  uses(
    'options that are off',
    application({ syncPolicy: { syncOptions: ['Replace=false', 'ServerSideApply=false'] } }),
  ),
  uses(
    'RespectIgnoreDifferences',
    application({
      ignoreDifferences: [{ kind: 'Deployment', jsonPointers: ['/spec/replicas'] }],
      syncPolicy: { syncOptions: ['RespectIgnoreDifferences=true'] },
    }),
    [['info', rows.respectIgnore, 'spec.syncPolicy.syncOptions']],
  ),
  uses('commit signatures', application(), [['info', rows.signatures, 'AppProject default: spec.signatureKeys']], {
    project: { signatureKeys: [{ keyID: 'AAAAAAAAAAAAAAAA' }] },
  }),
  uses('metadata of the Namespace', application({ syncPolicy: { managedNamespaceMetadata: { labels: { a: 'b' } } } }), [
    ['info', rows.namespaceMetadata, 'spec.syncPolicy.managedNamespaceMetadata'],
  ]),
  uses(
    'retries with the latest revision',
    application(
      { syncPolicy: { automated: {}, retry: { limit: 3 } } },
      annotated({ 'driftless.io/retry-latest-revision': 'true' }),
    ),
    [['info', rows.retries, 'metadata.annotations["driftless.io/retry-latest-revision"]']],
  ),
  uses('retries as in Argo CD', application({ syncPolicy: { automated: {}, retry: { limit: 3 } } })),
  uses('hooks', application({}, { status: { resources: [{ kind: 'Job', name: 'j', hook: true }] } }), [
    ['info', rows.hooks, 'status.resources'],
  ]),
  uses(
    'a jq program that is refused, beside one that is not',
    application({
      ignoreDifferences: [{ kind: 'Deployment', name: 'web', jqPathExpressions: ['.spec.replicas', '.spec |'] }],
    }),
    [['refused', rows.brokenRule, 'spec.ignoreDifferences[0]']],
  ),
  uses(
    'a pointer without its slash has no effect in Argo CD either',
    application({ ignoreDifferences: [{ kind: 'Deployment', jsonPointers: ['spec/replicas', '/spec/paused'] }] }),
    [['info', rows.idleRule, 'spec.ignoreDifferences[0]']],
  ),
  uses(
    'a cluster that is scoped to another project',
    application({ destination: { server: 'https://dest', namespace: 'apps' } }),
    [['refused', rows.scopedCluster, 'spec.destination']],
    { clusters: [cluster({ project: 'other' })] },
  ),
  uses('a destination that is not there', application({ destination: { name: 'nowhere', namespace: 'apps' } }), [
    ['info', rows.destination, 'spec.destination'],
  ]),
  uses('skip-reconcile', application({}, annotated({ 'argocd.argoproj.io/skip-reconcile': 'true' })), [
    ['info', rows.skipReconcile, 'metadata.annotations["argocd.argoproj.io/skip-reconcile"]'],
  ]),
  uses('skip-reconcile that is no boolean', application({}, annotated({ 'argocd.argoproj.io/skip-reconcile': 'yes' }))),
  uses('another namespace', application({}, { metadata: { name: 'app', namespace: 'team-a' } }), [
    ['info', rows.namespaces, 'metadata.namespace: team-a'],
  ]),
  uses(
    'a pattern of namespaces that only another engine reads',
    application(),
    [['differs', rows.namespacePatterns, 'AppProject default: spec.sourceNamespaces: /^(?=team)/']],
    { project: { sourceNamespaces: ['team-*', '/^(?=team)/'] } },
  ),
  uses('a global project that does not exist', application(), [['differs', rows.missingGlobal, 'AppProject default']], {
    cm: { globalProjects: '- projectName: base\n  labelSelector: {}\n' },
  }),
  uses(
    'deny entries that are no globs',
    application(),
    [
      ['differs', rows.denyGlob, 'AppProject default: spec.sourceRepos[1]'],
      ['differs', rows.denyGlob, 'AppProject default: spec.destinations[0].namespace'],
      ['differs', rows.denyGlob, 'AppProject default: spec.destinations[1].name'],
    ],
    {
      project: {
        sourceRepos: ['*', '![a', '!https://git.example.com/*'],
        destinations: [{ server: '*', namespace: '![b' }, { name: '![c', namespace: '*' }, { server: '!https://x' }],
      },
    },
  ),
  uses(
    'a denied name of a cluster for one namespace, and for all',
    application(),
    [['differs', rows.deniedName, 'AppProject default: spec.destinations[1].name']],
    {
      project: {
        destinations: [
          { server: '*', namespace: '*' },
          { name: '!prod', namespace: 'x' },
          { name: '!test', namespace: '*' },
        ],
      },
    },
  ),
  uses(
    'windows that never open, and that are too long',
    application(),
    [
      ['info', rows.windows, 'AppProject default: spec.syncWindows'],
      ['differs', rows.neverOpen, 'AppProject default: spec.syncWindows[0].schedule'],
      ['differs', rows.longWindow, 'AppProject default: spec.syncWindows[3].schedule'],
      ['differs', rows.longWindow, 'AppProject default: spec.syncWindows[4].duration'],
    ],
    {
      project: {
        syncWindows: [
          { kind: 'allow', schedule: '0 0 30 2 *', duration: '1h' },
          { kind: 'deny', schedule: '0 0 30 2 *', duration: '1h' },
          { kind: 'allow', schedule: '0 0 29 2 *', duration: '1h' },
          { kind: 'deny', schedule: `0 0 1${',1'.repeat(1000)} * *`, duration: '1h' },
          { kind: 'deny', schedule: '0 0 1 * *', duration: '1h'.repeat(101) },
        ],
      },
    },
  ),
  uses(
    'windows that Argo CD leaves out',
    application(),
    [
      ['info', rows.windows, 'AppProject default: spec.syncWindows'],
      ['differs', rows.meaninglessWindow, 'AppProject default: spec.syncWindows[0].kind'],
      ['differs', rows.meaninglessWindow, 'AppProject default: spec.syncWindows[1].clusters'],
    ],
    { project: { syncWindows: [{ kind: 'dney' }, { kind: 'deny', clusters: ['[prod'] }] } },
  ),
  uses(
    'a project that its schema would not let pass',
    application(),
    [
      ['info', rows.windows, 'AppProject default: spec.syncWindows'],
      ...[
        'sourceRepos',
        'sourceNamespaces',
        'destinations',
        'clusterResourceWhitelist',
        'syncWindows',
        'permitOnlyProjectScopedClusters',
      ].map((list) => ['differs', rows.unreadableProject, `AppProject default: spec.${list}`] as const),
    ],
    {
      project: {
        sourceRepos: '*',
        sourceNamespaces: [1],
        destinations: [{ server: 1 }],
        clusterResourceWhitelist: ['*'],
        namespaceResourceBlacklist: [{ group: '', kind: null }],
        syncWindows: [{ kind: 'deny', applications: 'a' }],
        permitOnlyProjectScopedClusters: 'yes',
      },
    },
  ),
  uses('sync windows', application(), [['info', rows.windows, 'AppProject default: spec.syncWindows']], {
    project: { syncWindows: [{ kind: 'deny' }] },
  }),
  uses(
    'impersonation',
    application(),
    [['info', rows.impersonation, 'AppProject default: spec.destinationServiceAccounts']],
    {
      cm: { 'application.sync.impersonation.enabled': 'true' },
      project: { destinationServiceAccounts: [{ server: '*', defaultServiceAccount: 'deployer' }] },
    },
  ),
  uses('accounts for an impersonation that is off', application(), [], {
    project: { destinationServiceAccounts: [{ server: '*', defaultServiceAccount: 'deployer' }] },
  }),
];

describe('features of an Application', () => {
  it.each(appCases)('%s', (_name, object, expected, given) => {
    const found = applicationFeatures(object, installation(given));
    expect(brief(found)).toEqual(expected);
    expect(JSON.stringify(found)).not.toContain(canary);
  });
});

const statefulSet = (args: readonly string[], env: readonly object[] = [], replicas = 1): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'argocd-application-controller' },
  spec: { replicas, template: { spec: { containers: [{ name: 'c', args, env }] } } } as unknown as Json,
});

const repoServer = (env: readonly object[]): KubeObject => ({
  ...statefulSet([], env),
  kind: 'Deployment',
  metadata: { name: 'argocd-repo-server' },
});

type InstallationCase = readonly [name: string, given: Given, expected: Expected];
const setup = (name: string, given: Given, expected: Expected = []): InstallationCase => [name, given, expected];
const params = (key: string): string => `ConfigMap argocd-cmd-params-cm: ${key}`;

const installationCases: readonly InstallationCase[] = [
  setup('nothing', {}),
  setup('a health script', { cm: { 'resource.customizations.health.example.com_Widget': 'return {}' } }, [
    ['info', rows.luaHealth, 'ConfigMap argocd-cm: resource.customizations of example.com/Widget'],
  ]),
  setup('actions', { cm: { 'resource.customizations.actions.apps_Deployment': 'discovery.lua: x' } }, [
    ['info', rows.actions, 'ConfigMap argocd-cm: resource.customizations.actions.apps_Deployment'],
  ]),
  setup(
    'an ignore rule for all kinds that is refused',
    { cm: { 'resource.customizations.ignoreDifferences.all': 'jqPathExpressions: [".spec |"]' } },
    [['refused', rows.brokenRule, 'ConfigMap argocd-cm: resource.customizations of */*, ignoreDifferences']],
  ),
  setup(
    'a rule for all that only jq can run',
    {
      cm: {
        'resource.customizations.ignoreDifferences.apps_Deployment': 'jqPathExpressions: [".spec | limit(1; .[])"]',
      },
    },
    [['differs', rows.updatesByJq, 'ConfigMap argocd-cm']],
  ),
  setup(
    'selectors of live objects, and how Argo CD keeps them',
    {
      cm: {
        'resource.selectors': '- selector: a=b',
        'resource.manifest.storage': 'json',
        'resource.manifest.compression': '',
      },
    },
    [
      ['differs', rows.selectors, 'ConfigMap argocd-cm'],
      ['info', rows.inert, 'ConfigMap argocd-cm'],
    ],
  ),
  setup('a key that cannot be read, and narrows what is written', { cm: { 'resource.exclusions': '{' } }, [
    ['refused', rows.narrowing, 'ConfigMap argocd-cm'],
  ]),
  setup('a key that cannot be read, and narrows nothing', { cm: { 'resource.ignoreResourceUpdatesEnabled': 'ja' } }, [
    ['differs', rows.malformed, 'ConfigMap argocd-cm'],
  ]),
  setup('an argocd-cm that is missing', { hasSettings: false }, [
    ['info', rows.missingSettings, 'ConfigMap argocd/argocd-cm'],
  ]),
  setup('an argocd-cm without its label', { labelled: false }, [
    ['differs', rows.cmLabel, 'ConfigMap argocd/argocd-cm'],
  ]),
  setup(
    'kinds that are left out by their rights, and keys that have the same effect here',
    { cm: { 'resource.respectRBAC': 'strict', 'resource.includeEventLabelKeys': 'team*' } },
    [['info', rows.respectRBAC, 'ConfigMap argocd-cm: resource.respectRBAC']],
  ),
  setup('server-side diff for all', { params: { 'controller.diff.server.side': 'true' } }, [
    ['info', rows.serverSideDiff, params('controller.diff.server.side')],
  ]),
  setup('a flag without effect at its default', { params: { 'controller.diff.server.side': 'false' } }),
  setup('a flag that has its effect', { params: { 'controller.status.processors': '50' } }),
  setup(
    'a flag without effect beside one that has its effect',
    { params: { 'otlp.address': 'collector:4317', 'controller.profile.enabled': 'true' } },
    [['info', rows.inert, params('controller.profile.enabled')]],
  ),
  setup('the hydrator', { params: { 'hydrator.enabled': 'true' } }, [
    ['info', rows.hydrator, params('hydrator.enabled')],
  ]),
  setup(
    'services that are not needed',
    { params: { 'repo.server': 'r:8081', 'redis.server': 'r:6379', 'reposerver.parallelism.limit': '4' } },
    [
      ['info', rows.services, params('repo.server')],
      ['info', rows.repoServerVariables, params('reposerver.parallelism.limit')],
    ],
  ),
  setup(
    'settings of the repo-server, by key and by variable, that the controller lacks',
    {
      params: {
        'reposerver.parallelism.limit': '64',
        'reposerver.allow.oob.symlinks': 'true',
        'reposerver.git.request.timeout': '45s',
        'reposerver.plugin.tar.exclusions': '.git/*',
        'reposerver.disable.tls': 'true',
      },
      repoServer: repoServer([
        { name: 'ARGOCD_EXEC_TIMEOUT', value: '5m' },
        { name: 'ARGOCD_GIT_ATTEMPTS_COUNT', value: '3' },
        { name: 'ARGOCD_GIT_RETRY_FACTOR', value: '2' },
        { name: 'ARGOCD_GIT_RETRY_DURATION', value: 'soon' },
      ]),
      workload: statefulSet([], [{ name: 'ARGOCD_GIT_ATTEMPTS_COUNT', value: '3' }]),
    },
    [
      ['differs', rows.repoServerVariables, 'Deployment argocd-repo-server: ARGOCD_EXEC_TIMEOUT'],
      ['differs', rows.repoServerVariables, 'Deployment argocd-repo-server: ARGOCD_GIT_RETRY_DURATION'],
      ['info', rows.repoServerVariables, params('reposerver.git.request.timeout')],
      ['info', rows.repoServerVariables, params('reposerver.plugin.tar.exclusions')],
      ['info', rows.repoServerVariables, params('reposerver.allow.oob.symlinks')],
      ['info', rows.generator, params('reposerver.disable.tls')],
    ],
  ),
  setup(
    'flags in the workload',
    {
      workload: statefulSet([
        '/usr/local/bin/argocd-application-controller',
        '--server-side-diff-enabled',
        '--metrics-port=8082',
        '--retry-latest-revision',
      ]),
    },
    [
      ['info', rows.serverSideDiff, 'StatefulSet argocd-application-controller: --server-side-diff-enabled'],
      ['info', rows.retries, 'StatefulSet argocd-application-controller: --retry-latest-revision'],
    ],
  ),
  setup(
    'variables in the workload',
    { workload: statefulSet([], [{ name: 'ARGOCD_ENABLE_DYNAMIC_CLUSTER_DISTRIBUTION', value: 'true' }]) },
    [['info', rows.dynamic, 'StatefulSet argocd-application-controller']],
  ),
  setup('consistent hashing', { params: { 'controller.sharding.algorithm': 'consistent-hashing' } }, [
    ['info', rows.consistentHashing, params('controller.sharding.algorithm')],
  ]),
  setup('round-robin', { params: { 'controller.sharding.algorithm': 'round-robin' } }),
  setup(
    'pins',
    {
      clusters: [cluster({ shard: '1' }), cluster({ server: 'https://b', shard: '0' })],
      workload: statefulSet([], [], 1),
    },
    [['info', rows.pin, 'cluster dest']],
  ),
  setup('a negative pin', { clusters: [cluster({ shard: '-2' })] }, [['info', rows.pin, 'cluster dest']]),
  setup('two Secrets with one URL', { clusters: [cluster({}), cluster({ server: 'https://dest/', name: 'again' })] }, [
    ['differs', rows.oneUrl, 'cluster https://dest'],
  ]),
  setup('a SOCKS proxy', {
    clusters: [cluster({ config: JSON.stringify({ proxyUrl: `socks5://u:${canary}@p:1080` }) })],
  }),
  setup('awsAuthConfig', { clusters: [cluster({ config: JSON.stringify({ awsAuthConfig: { clusterName: 'c' } }) })] }, [
    ['info', rows.plugins, 'cluster dest'],
  ]),
  setup(
    'execProviderConfig',
    { clusters: [cluster({ config: JSON.stringify({ execProviderConfig: { command: 'gke', env: { T: canary } } }) })] },
    [['info', rows.plugins, 'cluster dest']],
  ),
  setup(
    'a Secret that wants the version of its cluster as a label',
    { clusters: [cluster({}, {}, { 'argocd.argoproj.io/auto-label-cluster-info': 'true' })] },
    [['differs', rows.versionLabel, 'cluster dest']],
  ),
  setup('a cluster that is left alone', { clusters: [cluster({}, { 'argocd.argoproj.io/skip-reconcile': 'true' })] }, [
    ['info', rows.skipReconcile, 'cluster dest'],
  ]),
];

describe('features of an installation', () => {
  it.each(installationCases)('%s', (_name, given, expected) => {
    const found = installationFeatures(installation(given));
    // The feature about the UI's resource tree is always reported.
    expect(brief(found)).toEqual([...expected, ['info', rows.redis, 'Redis']]);
    expect(JSON.stringify(found)).not.toContain(canary);
  });
});

/**
 * Rows of docs/compatibility.md with "differs", "not yet" or "partly" that have no detector, with
 * the reason. Add a detector (cli/preflight/features.ts) or a line here for each new row.
 */
const byHydrator = 'named with every Application that has a source hydrator';
const byComparison = 'shows in the comparison of the Application itself';
const harmless = 'nothing to see beforehand and nothing to do: it is a matter of timing or order, to the better';
const ownAffair = 'about this controller at work, not about what an installation uses';
const signed = 'about one revision and its signature: it shows in the comparison, or in an operation';
const forced = 'about one object at the moment of a forced sync; to the better';
const hidesMore = 'what is deployed stays the same; less of it is shown';
const atSync = 'about how a sync sends it; the difference itself shows in the comparison';
const outage = 'about outages that are still to come; a repository that cannot be read now is reported as such';
const undetected: Readonly<Record<string, string>> = {
  'a CustomResourceDefinition whose manifest names a namespace': byComparison,
  'empty values in Git (`false`, `0`, `""`, `[]`, `{}`, `null`) where the live object has others': byComparison,
  'fields of built-in kinds that are newer than Kubernetes 1.36': byComparison,
  'health of an object that is being deleted': byComparison,
  'the health message of an Application (`Caused by …`)': harmless,
  'health of an object whose fields have other types than its schema': byComparison,
  'a manifest that cannot be merged (items without the key of their list, a value of another type)': byComparison,
  '`spec.finalizers` of a Namespace': byComparison,
  'values that the API server fills in where nothing was written': byComparison,
  'CustomResourceDefinitions that Git has dropped': harmless,
  'sync waves near the limits of 64 bits': harmless,
  'negative quantities below the precision of a quantity': byComparison,
  '`.gitattributes`': byComparison,
  'encrypted objects and values files (SOPS) in a project without keys': byComparison,
  'a chart of a registry by its digest (`targetRevision: sha256:…`)': byComparison,
  'Kustomize: Helm charts (`--enable-helm`)': byComparison,
  'Kustomize: `ignoreMissingComponents` with several components': byComparison,
  'Kustomize: `replicas` without a `count`, in an override file': byComparison,
  'Helm dependencies': byComparison,
  'source hydrator: Applications with an error': byHydrator,
  'source hydrator: who commits': byHydrator,
  'source hydrator: refused destinations': byHydrator,
  'source hydrator: files beside the manifests': byHydrator,
  'source hydrator: `hydrateTo` whose branch does not exist, without changes': byHydrator,
  'another application controller that takes part in no hand-over': ownAffair,
  'source hydrator: templates': byHydrator,
  'source hydrator: replicas': byHydrator,
  'source hydrator: when it commits': byHydrator,
  'documents in the output of a program, texts in the answer of a plugin': byComparison,
  'files of a source that its program or plugin needs': byComparison,
  'variables of the build environment in options, parameters and plugin environments (`$ARGOCD_APP_NAME`, …)':
    byComparison,
  'a normal refresh on request of an Application in which nothing has changed': harmless,
  'when an Application is stale, comparison levels, resync and jitter': harmless,
  'resync of an Application in which nothing has changed (`timeout.reconciliation`)': harmless,
  'Application status, conditions, history, operationState': harmless,
  'Helm: values files and file parameters by address': byComparison,
  'Helm: parameters, `apiVersions`, release names': byComparison,
  'Helm: `values.schema.json` with a `$ref` or `$schema` to a file, a relative address or this machine': byComparison,
  "the ServiceAccount's token in sidecars and init containers of the controller's pod":
    'about the pod of this controller, which the chart makes',
  '`argocd.argoproj.io/ignore-differences` on a manifest': byComparison,
  'a port whose number was edited in the cluster (`containerPort`, port of a Service)': atSync,
  'a volume whose source was changed in the cluster to one of another type, with server-side apply': atSync,
  'hooks that the sources no longer call hooks, and annotations of hooks that only the live object has': byComparison,
  'an object of the name of a hook, or of a manifest with a hook type that is unknown, that others created': harmless,
  'an object that leaves Git after a change of the tracking method or label key, before the next sync': byComparison,
  'an API version that Git changes to one with fewer fields': byComparison,
  'an object that leaves Git, and that the project no longer permits (its namespace or kind)': byComparison,
  'an object whose manifest is gone, and that has an owner': byComparison,
  '`serviceAccountName` that Git drops': byComparison,
  'several items of one key in a list that is merged by keys (two `env` entries of one name)': byComparison,
  '`stringData` of a Secret': byComparison,
  "three-way comparison with kubectl's last-applied annotation": byComparison,
  'values that the API server chooses once from other fields of the manifest': byComparison,
  'an object whose managed fields were trimmed': byComparison,
  'a list or map of a custom resource whose type changes in its definition': byComparison,
  'managed fields of an API version that the server no longer serves, with server-side apply': atSync,
  'a map of a custom resource that becomes empty in Git (`{}`), with server-side apply': atSync,
  '`metadata.managedFields` in a manifest, copied from a cluster': atSync,
  'an object that is still OutOfSync after a sync has written it, because the API server stores other values (a default, a mutating webhook, a field of another manager)':
    'told by a condition when it happens; to the better',
  'very many ignore rules in one Application': byComparison,
  '`knownTypeFields` of resource customizations': byComparison,
  'a requested refresh whose repository is not reached': harmless,
  'refreshes on request (`argocd.argoproj.io/refresh`)': harmless,
  'the order in which Applications are processed': harmless,
  'a change of `spec.syncPolicy`': harmless,
  'a failed sync of another revision than the one that the spec names exactly': harmless,
  'the first comparisons of a replica that starts or takes over clusters': harmless,
  'an event of an object that the last comparison has seen already, for example because a sync has just applied it':
    harmless,
  'traces (`--otlp-*`)': harmless,
  'the pause between waves (`ARGOCD_SYNC_WAVE_DELAY`)': harmless,
  'writes at once (`--kubectl-parallelism-limit`)': ownAffair,
  'connections to API servers (`ARGOCD_K8S_*`, `ARGOCD_K8SCLIENT_*`)': ownAffair,
  'caches of clusters (`ARGOCD_CLUSTER_CACHE_*`, `ARGOCD_CLUSTER_SYNC_RETRY_TIMEOUT_DURATION`)': ownAffair,
  'addresses that sources may not have': byComparison,
  'redirects of a Git server': byComparison,
  'credentials of a registry, a chart repository and an LFS server': byComparison,
  'certificates of ssh hosts (`@cert-authority`) on another port than 22': byComparison,
  '`git://` over a name': harmless,
  'which repositories a repo-creds Secret covers': byComparison,
  'the repository Secret of another project, for a chart dependency': byComparison,
  'server-side diff of a CertificateSigningRequest': byComparison,
  'messages of API servers and webhooks about Secrets': hidesMore,
  'the annotation last-applied of a Secret': hidesMore,
  'stderr of a credential plugin': hidesMore,
  'a variable of a setting that narrows and cannot be read': 'the start names it, and ends',
  'a missing argocd-cmd-params-cm': 'none of its values are known before this controller has run once',
  'user and password in the address of a cluster (`https://user:password@host`)': hidesMore,
  'user and password in a `repoURL`': hidesMore,
  'options of a source that are secret by their names (parameters and values of Helm, variables of Jsonnet, environment of plugins: `…password`, `…token`, …)':
    hidesMore,
  "repositories on the controller's disk (`file://`, absolute paths)": byComparison,
  'sources that together render nothing (only `ref`), a hydrator without `syncSource.path`': byComparison,
  "the repository of an operation's own source (a rollback, an operation written by hand)":
    'about operations that are still to come',
  'rules of a Role that has none in Git (`rules: []`)': byComparison,
  'a revision whose signature is not good': signed,
  'signatures where Argo CD does not look': signed,
  'a signed tag that was resolved to its commit': signed,
  'a policy of `sourceIntegrity` and another spelling of its repository (`.git`, case, ssh forms)': signed,
  'a policy without `gpg`, a seal by a key that may not sign': signed,
  '`ARGOCD_GPG_ENABLED=false`': 'it is set for the repo-server of Argo CD, which is not looked at',
  'connections to the repo-server': ownAffair,
  'an answer of the repo-server for another commit than asked for, for none, or for a branch that moved between two sources':
    harmless,
  'signatures that a repo-server verifies': signed,
  'whether a source was synced already': harmless,
  'comparison for server-side apply': byComparison,
  'a hook that vanished while it ran': 'about operations that are still to come',
  'an operation that is a dry run': 'about operations that are still to come',
  'Force=true, and role bindings to another role': forced,
  'Force=true on a CustomResourceDefinition or Namespace': forced,
  'Force=true under a quota that is full': forced,
  CustomResourceDefinitions: byComparison,
  'condition texts of a source that cannot be rendered': byComparison,
  'a repository that was read before with other credentials': byComparison,
  'a branch and a tag of one name': byComparison,
  'an application path that is a symbolic link, a kustomization that is one': byComparison,
  'a YAML file that has some keys of a manifest but is none': byComparison,
  'a manifest without a name': byComparison,
  'a manifest without apiVersion, labels that are not text': byComparison,
  'a List inside a List': byComparison,
  'a kind that cannot be watched, or whose list has no resourceVersion': byComparison,
  'a kind that cannot be listed (broken CRD, webhook, permission)': byComparison,
  'refresh annotation that arrives during a pass': harmless,
  'live changes': harmless,
  'the message of an applied resource': harmless,
  'when Redis is written': harmless,
  'Redis that is down, slow or full': harmless,
  'surplus parts of a sharded tree that shrank': harmless,
  'Events about Applications': harmless,
  'health of each object in the status': 'about an installation without Redis, and Argo CD has one',
  'a health script or check that fails': 'an Application that it affects in Argo CD shows the ComparisonError',
  '"invalidate cache" of a cluster': harmless,
  'self-heal of a namespace that is deleted with its objects': 'about operations that are still to come',
  'self-heal of objects of one wave, without hooks, prunes, Namespaces, CustomResourceDefinitions, Replace and Force':
    harmless,
  'self-heal while a source cannot be read': outage,
  'self-heal backoff': harmless,
  'self-heal of an Unknown resource': 'about rules that cannot be read, which are reported as such',
  'an unreadable cluster Secret': 'a Secret that cannot be read now is reported as such',
  'an object that another writer changes back again and again': 'told by a condition when it happens; to the better',
  'failed passes': harmless,
  'changes of a project or of repository Secrets': harmless,
  reconciledAt: harmless,
  'the end of a sync': harmless,
  'a full sync of what is in sync':
    'what clusters end up with is the same: nothing is left out but writes that change nothing',
  'the grace period of repository errors': harmless,
  'an error of a repository': harmless,
  'order within a wave': harmless,
  'prune rules': 'about the moment of a prune: which kinds can be read then',
  'an object that another Application has in Git, too':
    'told by the condition SharedResourceWarning of one of the two; to the better',
  "a status that is older than its object's spec (`observedGeneration`)": 'about operations that are still to come',
  'a status or the state of an operation above what the API server stores (1.5 MiB)':
    'about operations that are still to come',
  'a status that the API server refuses (422)': 'only a write shows it, and preflight writes nothing',
  'an operation that is removed by hand while it runs': 'about operations that are still to come',
  'an operation, deletion, refresh or comparison that waits': 'fewer surprises: a condition more',
  'objects that automated sync cannot prune: kept by `Prune=false` or by an owner that controls them, or whose deletion does not end':
    'fewer syncs, none of which changed anything',
  'automated sync after a dry run, or after a sync of selected resources': 'about operations that are still to come',
  'a CustomResourceDefinition and its objects in one commit, or in two Applications': 'fewer failures',
  'a deletion after a change of the tracking method or label key': 'about deletions that are still to come',
  'deletion of an Application while an operation runs or retries': 'about deletions that are still to come',
  'a deletion whose cluster cannot be resolved':
    'about deletions that are still to come; a destination that cannot be resolved now is reported',
  'a deletion that does not finish': 'about deletions that are still to come',
  'a deletion whose finalizers an admission policy adds again (argo-cd 20296)':
    'about deletions that are still to come',
  'cascade deletion, finalizer forms, waves, Delete=false, confirmation': 'about deletions that are still to come',
  'a source that cannot be rendered': byComparison,
  'the check before a sync': harmless,
  'resuming after a restart': harmless,
  'retry delay': harmless,
  'end of an operation': harmless,
  'argocd-secret': 'it is there in every installation, and not needed',
  'before the first full list of clusters': ownAffair,
  'a hostname without a number, with several replicas': ownAffair,
  'a shard number beyond the replicas': ownAffair,
  'a shard from the hostname': ownAffair,
  'the number of replicas': ownAffair,
  'ARGOCD_CONTROLLER_SHARD with dynamic distribution': ownAffair,
  'a controller of Argo CD that holds a shard': 'it does so now, and is scaled to 0 for the switch',
  'an emptied shard ConfigMap': ownAffair,
  'PreDelete and PostDelete hooks': 'about deletions that are still to come',
  'terminating an operation on a cluster that does not answer': 'about operations that are still to come',
  'the state of a running operation with fields of the wrong type': 'about operations that are still to come',
  'terminating an operation whose manifests cannot be read, or whose hook has left Git':
    'about operations that are still to come',
  'jq programs of one comparison': byComparison,
  'local manifests of an operation (`argocd app sync --local`)': 'about operations that are still to come',
  'Kustomize: remote bases': byComparison,
  'Kustomize: single files of other servers': byComparison,
  'Kustomize: what a kustomization reads': byComparison,
  '`helm.values` that is no map': byComparison,
  'imports of Jsonnet files': byComparison,
  submodules: byComparison,
  'a plugin that does not answer when it is asked whether it knows a source': byComparison,
  'a tag of a registry with build metadata (`1.0.0_a`)': byComparison,
  'the digest of a chart in the index of its repository': byComparison,
  'cached rendered manifests': harmless,
  '`$ref` to several revisions of one repository': byComparison,
  'a live object that cannot be read (conversion webhook, permission, aggregated API)': byComparison,
  'charts and plugins while an API group cannot be read (`.Capabilities.APIVersions`, `KUBE_API_VERSIONS`)': ownAffair,
  'a restored cluster (its etcd restored, or rebuilt behind the same URL)': ownAffair,
  'globs whose fixed ends overlap (`a*a` on `a`)': byComparison,
  'ownership changes': ownAffair,
  'a replica that is gone': ownAffair,
  'without access to the ConfigMaps': ownAffair,
  'User-Agent': ownAffair,
  'the table': 'about driftless shards',
  'Applications that count': 'about driftless shards',
  'a pin that leads nowhere, a Secret that cannot be read': 'about driftless shards',
  'a reader that closes the pipe': 'about driftless shards',
  '`driftless shards stats`, also as `driftless admin cluster shards` and `stats`': 'about driftless shards',
  'a file that is truncated, or of another format': 'about driftless admin',
  '`get-reconcile-results --refresh`': 'about driftless admin',
  '`--server-side-diff`, flags of kubectl other than `--kubeconfig`, `--context` and `--namespace`':
    'about driftless admin',
  '`argocd_*` metrics': 'which of them somebody looks at cannot be seen here',
  'log lines': 'who searches them cannot be seen here',
  'metrics of the process': 'which of them somebody looks at cannot be seen here',
  '`/healthz`': ownAffair,
};

/** First and second cells of the page's tables. */
function pageRows(): ReadonlyMap<string, string> {
  const lines = readFileSync('docs/compatibility.md', 'utf8').split('\n');
  const cells = lines.filter((line) => /^\|(?! *[Ss]ubject)(?!-)/.test(line)).map((line) => line.split('|'));
  return new Map(cells.map(([, subject = '', verdict = '']) => [subject.trim(), verdict.trim()]));
}

describe('a workload uses Redis', () => {
  const withEnv = (...env: readonly object[]): KubeObject =>
    ({
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'argocd-application-controller' },
      spec: { template: { spec: { containers: [{ args: [], env }] } } },
    }) as unknown as KubeObject;
  const from = (kind: string): object => ({ valueFrom: { [kind]: { name: 'x', key: 'y', optional: true } } });

  it.each<[string, KubeObject, boolean]>([
    ['no variable', withEnv(), false],
    ['an address', withEnv({ name: 'REDIS_SERVER', value: 'r:6379' }), true],
    ['an empty address', withEnv({ name: 'REDIS_SERVER', value: '' }), false],
    ['a password of a Secret', withEnv({ name: 'REDIS_PASSWORD', ...from('secretKeyRef') }), true],
    [
      'an address of a ConfigMap, which may not be there',
      withEnv({ name: 'REDIS_SERVER', ...from('configMapKeyRef') }),
      false,
    ],
    ['another variable', withEnv({ name: 'REDISDB', value: '1' }), false],
    ['--redis', statefulSet(['--redis', 'r:6379']), true],
    ['--sentinel', statefulSet(['--sentinel=s:26379']), true],
    ['another flag', statefulSet(['--redisdb=1']), false],
  ])('%s', (_name, workload, expected) => {
    expect(workloadFacts(workload).hasRedis).toBe(expected);
  });
});

describe('docs/compatibility.md', () => {
  it('every row that a feature names is there', () => {
    const page = pageRows();
    expect(page.size).toBeGreaterThan(60);
    expect(Object.values({ ...rows, ...renderingRows }).filter((row) => !page.has(row))).toEqual([]);
  });

  it('every row that says "differs", "not yet" or "partly" has a detector, or a reason why not', () => {
    const detected = new Set<string>(Object.values(rows));
    const needy = [...pageRows()].filter(([, verdict]) => /differs|not yet|partly/.test(verdict)).map(([row]) => row);
    expect(needy.filter((row) => !detected.has(row) && !Object.hasOwn(undetected, row))).toEqual([]);
    // The list has no entry without a row.
    expect(Object.keys(undetected).filter((row) => !needy.includes(row) || detected.has(row))).toEqual([]);
  });

  it('migration and install notes begin with preflight and shadow mode', () => {
    const migrate = readFileSync('docs/migrate-from-argocd.md', 'utf8');
    const [first = ''] = /^## .*$/m.exec(migrate) ?? [];
    expect(first).toBe('## See it first');
    const looking = migrate.slice(migrate.indexOf(first), migrate.indexOf('## Before'));
    for (const text of ['driftless preflight', 'driftless run --shadow', '(shadow.md)'])
      expect(looking).toContain(text);
    const install = readFileSync('docs/install.md', 'utf8');
    const beforeCommands = install.slice(0, install.indexOf('```'));
    for (const text of ['driftless preflight', 'driftless run --shadow', 'migrate-from-argocd.md'])
      expect(beforeCommands).toContain(text);
    expect(readFileSync('charts/driftless/templates/NOTES.txt', 'utf8')).toContain('driftless preflight');
    expect(readFileSync('README.md', 'utf8')).toContain('| `driftless preflight` |');
  });

  it('the rights that preflight is said to need only read', () => {
    const migrate = readFileSync('docs/migrate-from-argocd.md', 'utf8');
    const roles = parseYamlDocuments(/```yaml\n([^]*?)```/.exec(migrate)?.[1] ?? '') as unknown as KubeObject[];
    expect(roles.map(({ kind }) => kind)).toEqual(['ClusterRole', 'Role']);
    const verbs = roles.flatMap((role) =>
      (role['rules'] as unknown as { verbs: string[] }[]).flatMap((rule) => rule.verbs),
    );
    expect([...new Set(verbs)].sort()).toEqual(['get', 'list', 'watch']);
  });

  it('statements that were false are gone', () => {
    expect(readFileSync('docs/migrate-from-argocd.md', 'utf8')).not.toContain('what is Synced stays untouched');
    const page = readFileSync('docs/compatibility.md', 'utf8');
    expect(page).not.toMatch(
      /a malformed entry \| differs \| spoils itself only|prune rules, results, messages \| same/,
    );
    expect(pageRows().get('prune rules')).toMatch(/differs/);
  });

  it('every row that is named is found by some case above', () => {
    const all = [
      ...appCases.flatMap(([, object, , given]) => applicationFeatures(object, installation(given))),
      ...installationCases.flatMap(([, given]) => installationFeatures(installation(given))),
    ];
    const found = new Set(all.map(({ row }) => row));
    expect(Object.values(rows).filter((row) => !found.has(row))).toEqual([]);
  });
});
