/* eslint-disable max-lines -- a table */
// Writes manifests/crds/*.yaml: the CustomResourceDefinitions of Application and AppProject with
// structural schemas. The fields are those of Argo CD's API, the descriptions are our own; each
// part is defined once (an Application has sources in five places). With --check it writes nothing,
// names stale files and exits with 1 if there are any.
import { join } from 'node:path';
import { dump } from 'js-yaml';
import { put } from './generated.mjs';
import { root } from '../root.mjs';

const string = (description) => ({ type: 'string', ...(description ? { description } : {}) });
const boolean = (description) => ({ type: 'boolean', ...(description ? { description } : {}) });
const int64 = (description) => ({ type: 'integer', format: 'int64', ...(description ? { description } : {}) });
const time = (description) => ({ type: 'string', format: 'date-time', ...(description ? { description } : {}) });
const list = (items, description) => ({ type: 'array', items, ...(description ? { description } : {}) });
const strings = (description) => list(string(), description);
const stringMap = (description) => ({
  type: 'object',
  additionalProperties: string(),
  ...(description ? { description } : {}),
});
const object = (properties, required = [], description = undefined) => ({
  type: 'object',
  ...(description ? { description } : {}),
  ...(required.length > 0 ? { required } : {}),
  properties,
});
const anything = (description) => ({
  type: 'object',
  'x-kubernetes-preserve-unknown-fields': true,
  ...(description ? { description } : {}),
});
const intOrString = () => ({ anyOf: [{ type: 'integer' }, { type: 'string' }], 'x-kubernetes-int-or-string': true });

const jsonnetVariable = object(
  { name: string(), value: string(), code: boolean('The value is Jsonnet code, not text.') },
  ['name', 'value'],
);
const directory = object(
  {
    recurse: boolean('Read subdirectories too.'),
    include: string('Glob of files to read.'),
    exclude: string('Glob of files to leave out.'),
    disableExtensionFilter: boolean('Read files whatever their extension.'),
    jsonnet: object({
      extVars: list(jsonnetVariable, 'External variables.'),
      tlas: list(jsonnetVariable, 'Top-level arguments.'),
      libs: strings('Additional library directories.'),
    }),
  },
  [],
  'Options of a directory of plain manifests.',
);
const helm = object(
  {
    releaseName: string('Release name; the name of the Application when empty.'),
    valueFiles: strings('Values files, relative to the chart, or $ref/path.'),
    values: string('Values as a block of YAML.'),
    valuesObject: anything('Values as an object; it wins over `values`.'),
    parameters: list(
      object({ name: string(), value: string(), forceString: boolean('Pass the value as a string.') }),
      'Values set one by one.',
    ),
    fileParameters: list(object({ name: string(), path: string() }), 'Values read from files.'),
    passCredentials: boolean('Send credentials to every host that the chart names.'),
    ignoreMissingValueFiles: boolean('A values file that does not exist is no error.'),
    skipCrds: boolean('Leave the CRDs of the chart out.'),
    skipTests: boolean('Leave the tests of the chart out.'),
    skipSchemaValidation: boolean('Do not check values against values.schema.json.'),
    version: string('Version of Helm.'),
    namespace: string('Namespace to template with; the destination by default.'),
    kubeVersion: string('Kubernetes version to template for.'),
    apiVersions: strings('API versions to template for.'),
  },
  [],
  'Options of a Helm chart.',
);
const kustomize = object(
  {
    namePrefix: string(),
    nameSuffix: string(),
    namespace: string('Namespace that is set on all objects.'),
    version: string('Version of Kustomize.'),
    kubeVersion: string(),
    images: strings('Image overrides: [old=]name[:tag|@digest].'),
    replicas: list(object({ name: string(), count: intOrString() }, ['name', 'count'])),
    patches: list(
      object({
        path: string(),
        patch: string(),
        target: object({
          group: string(),
          version: string(),
          kind: string(),
          name: string(),
          namespace: string(),
          annotationSelector: string(),
          labelSelector: string(),
        }),
        options: { type: 'object', additionalProperties: boolean() },
      }),
    ),
    components: strings(),
    apiVersions: strings(),
    commonLabels: stringMap(),
    commonAnnotations: stringMap(),
    forceCommonLabels: boolean(),
    forceCommonAnnotations: boolean(),
    commonAnnotationsEnvsubst: boolean(),
    labelWithoutSelector: boolean(),
    labelIncludeTemplates: boolean(),
    ignoreMissingComponents: boolean(),
  },
  [],
  'Options of a Kustomization.',
);
const plugin = object(
  {
    name: string(),
    env: list(object({ name: string(), value: string() }, ['name', 'value'])),
    parameters: list(object({ name: string(), string: string(), map: stringMap(), array: strings() })),
  },
  [],
  'Options of a config management plugin.',
);

const source = (description) =>
  object(
    {
      repoURL: string('URL of the Git, Helm or OCI repository.'),
      path: string('Directory inside the repository (Git and OCI).'),
      targetRevision: string('Branch, tag, commit or version range; HEAD when empty.'),
      chart: string('Name of a chart: makes this a Helm repository.'),
      ref: string('Name by which the values files of other sources reach this one.'),
      name: string('Name of the source, unique within `sources`.'),
      tagPrefix: string('Prefix of tags that a version range looks at.'),
      helm,
      kustomize,
      directory,
      plugin,
    },
    ['repoURL'],
    description,
  );
const sources = (description) => list(source(), description);
const destination = object(
  {
    server: string('API server URL of the target cluster.'),
    name: string('Name of the target cluster; exactly one of name and server.'),
    namespace: string('Namespace for objects that name none.'),
  },
  [],
  'Where the objects go.',
);
const ignoreDifferences = list(
  object(
    {
      group: string(),
      kind: string(),
      name: string(),
      namespace: string(),
      jsonPointers: strings(),
      jqPathExpressions: strings(),
      managedFieldsManagers: strings('Differences in fields that these managers own are ignored.'),
    },
    ['kind'],
  ),
  'Differences that do not count.',
);
const retry = object(
  {
    limit: int64('Attempts after the first; 0 none, negative without end.'),
    refresh: boolean('Retry with the newest revision instead of the first one.'),
    backoff: object({
      duration: string('First delay; a bare number is seconds.'),
      factor: int64('Factor from one delay to the next.'),
      maxDuration: string('Longest delay.'),
    }),
  },
  [],
  'How a failed sync is tried again.',
);
const info = list(object({ name: string(), value: string() }, ['name', 'value']));
const namespaceMetadata = object(
  { labels: stringMap(), annotations: stringMap() },
  [],
  'Metadata of the namespace that CreateNamespace=true makes.',
);
const drySource = object(
  { repoURL: string(), targetRevision: string(), path: string(), helm, kustomize, directory, plugin },
  ['path', 'repoURL', 'targetRevision'],
);
const hydrator = object(
  {
    drySource,
    syncSource: object(
      { repoURL: string(), targetBranch: string(), path: { ...string(), minLength: 1, pattern: '^.{2,}|[^./]$' } },
      ['path', 'targetBranch'],
    ),
    hydrateTo: object({ targetBranch: string() }, ['targetBranch']),
  },
  ['drySource', 'syncSource'],
  'Source hydrator: rendered manifests are pushed to a branch and synced from there.',
);
const force = object({ force: boolean('Delete and create again what cannot be changed.') });
const initiatedBy = object({ username: string(), automated: boolean('The controller began it, not a person.') });
const operation = object(
  {
    initiatedBy,
    info,
    retry,
    sync: object({
      revision: string('Revision to sync to; the target revision when empty.'),
      revisions: strings(),
      prune: boolean('Delete what is not in Git any more.'),
      dryRun: boolean('Change nothing.'),
      syncStrategy: object({ apply: force, hook: force }, [], 'apply leaves hooks out; hook is the default.'),
      resources: list(
        object({ group: string(), kind: string(), name: string(), namespace: string() }, ['kind', 'name']),
        'Sync only these.',
      ),
      source: source('Sync from here instead of spec.source (rollback).'),
      sources: sources(),
      manifests: strings('Sync these objects instead of a source.'),
      syncOptions: strings(),
      autoHealAttemptsCount: int64('How many self-heal attempts came before.'),
    }),
  },
  [],
  'An operation to carry out. The controller removes it when it is finished.',
);
const health = object({ status: string(), message: string(), lastTransitionTime: time() });
const comparedTo = object({ source: source(), sources: sources(), destination, ignoreDifferences }, ['destination']);
const resourceResult = object(
  {
    group: string(),
    version: string(),
    kind: string(),
    namespace: string(),
    name: string(),
    status: string(),
    message: string(),
    hookType: string(),
    hookPhase: string(),
    syncPhase: string(),
    images: strings(),
  },
  ['group', 'kind', 'name', 'namespace', 'version'],
);
const status = object({
  resources: list(
    object({
      group: string(),
      version: string(),
      kind: string(),
      namespace: string(),
      name: string(),
      status: string(),
      health,
      hook: boolean(),
      requiresPruning: boolean(),
      requiresDeletionConfirmation: boolean(),
      syncWave: int64(),
    }),
    'The managed objects.',
  ),
  sync: object(
    { status: string('Synced, OutOfSync or Unknown.'), comparedTo, revision: string(), revisions: strings() },
    ['status'],
  ),
  health,
  history: list(
    object(
      {
        id: int64(),
        revision: string(),
        revisions: strings(),
        source: source(),
        sources: sources(),
        deployedAt: time(),
        deployStartedAt: time(),
        initiatedBy,
      },
      ['deployedAt', 'id'],
    ),
    'Completed syncs, oldest first.',
  ),
  conditions: list(object({ type: string(), message: string(), lastTransitionTime: time() }, ['message', 'type'])),
  reconciledAt: time('When live and target state were last compared in full.'),
  observedAt: time('Not used any more.'),
  operationState: object(
    {
      operation,
      phase: string(),
      message: string(),
      startedAt: time(),
      finishedAt: time(),
      retryCount: int64(),
      syncResult: object(
        {
          resources: list(resourceResult),
          revision: string(),
          revisions: strings(),
          source: source(),
          sources: sources(),
          managedNamespaceMetadata: namespaceMetadata,
        },
        ['revision'],
      ),
    },
    ['operation', 'phase', 'startedAt'],
    'The running or the last operation.',
  ),
  sourceType: string(),
  sourceTypes: strings(),
  summary: object({ externalURLs: strings(), images: strings(), isAppOfApps: boolean() }),
  resourceHealthSource: string('appTree: health of objects is kept outside this status.'),
  controllerNamespace: string(),
  sourceHydrator: object({
    lastComparedDryRevision: string(),
    lastSuccessfulOperation: object({ drySHA: string(), hydratedSHA: string(), sourceHydrator: hydrator }),
    currentOperation: object(
      {
        startedAt: time(),
        finishedAt: time(),
        phase: { type: 'string', enum: ['Hydrating', 'Failed', 'Hydrated'] },
        message: string(),
        drySHA: string(),
        hydratedSHA: string(),
        sourceHydrator: hydrator,
      },
      ['message', 'phase'],
    ),
  }),
});

const application = object(
  {
    apiVersion: string(),
    kind: string(),
    metadata: { type: 'object' },
    spec: object(
      {
        project: string('AppProject that sets the limits; "default" when empty.'),
        source: source('Where the desired state comes from.'),
        sources: sources('Several sources; they win over `source`.'),
        sourceHydrator: hydrator,
        destination,
        syncPolicy: object({
          automated: object(
            {
              prune: { ...boolean('Delete what is not in Git any more.') },
              selfHeal: boolean('Repair changes that were made in the cluster.'),
              allowEmpty: boolean('Allow a sync that deletes everything.'),
              enabled: boolean('false: keep the block, but do not sync automatically.'),
            },
            [],
            'Sync without being asked.',
          ),
          syncOptions: strings(),
          retry,
          managedNamespaceMetadata: namespaceMetadata,
        }),
        ignoreDifferences,
        info,
        revisionHistoryLimit: int64('How many completed syncs are remembered; 10 by default.'),
      },
      ['destination', 'project'],
    ),
    operation,
    status,
  },
  ['metadata', 'spec'],
  'A set of objects in a cluster that shall equal what a source says.',
);

const groupKind = (extra = {}) => list(object({ group: string(), kind: string(), ...extra }, ['group', 'kind']));
const appProject = object(
  {
    apiVersion: string(),
    kind: string(),
    metadata: { type: 'object' },
    spec: object({
      description: { ...string(), maxLength: 255 },
      sourceRepos: strings('Repositories that Applications may use: globs, ! denies.'),
      destinations: list(
        object({ server: string(), name: string(), namespace: string() }),
        'Where Applications may go: globs, ! denies.',
      ),
      clusterResourceWhitelist: groupKind({ name: string() }),
      clusterResourceBlacklist: groupKind({ name: string() }),
      namespaceResourceWhitelist: groupKind(),
      namespaceResourceBlacklist: groupKind(),
      roles: list(
        object(
          {
            name: string(),
            description: string(),
            policies: strings(),
            groups: strings(),
            jwtTokens: list(object({ iat: int64(), exp: int64(), id: string() }, ['iat'])),
          },
          ['name'],
        ),
      ),
      orphanedResources: object({
        warn: boolean(),
        ignore: list(object({ group: string(), kind: string(), name: string() })),
      }),
      syncWindows: list(
        object({
          kind: string('allow or deny.'),
          schedule: string('Cron expression.'),
          duration: string(),
          timeZone: string(),
          description: string(),
          applications: strings(),
          namespaces: strings(),
          clusters: strings(),
          manualSync: boolean(),
          andOperator: boolean(),
          syncOverrun: boolean(),
        }),
      ),
      signatureKeys: list(object({ keyID: string() }, ['keyID'])),
      sourceIntegrity: object({
        git: object(
          {
            policies: list(
              object(
                {
                  repos: list(object({ url: string() }, ['url'])),
                  gpg: object({ mode: { type: 'string', enum: ['none', 'head', 'strict'] }, keys: strings() }, [
                    'keys',
                    'mode',
                  ]),
                },
                ['gpg', 'repos'],
              ),
            ),
          },
          ['policies'],
        ),
      }),
      sourceNamespaces: strings('Namespaces from which Applications may use this project.'),
      permitOnlyProjectScopedClusters: boolean(),
      destinationServiceAccounts: list(
        object({ server: string(), namespace: string(), defaultServiceAccount: string() }, [
          'defaultServiceAccount',
          'server',
        ]),
      ),
    }),
    status: object({
      jwtTokensByRole: {
        type: 'object',
        additionalProperties: object({ items: list(object({ iat: int64(), exp: int64(), id: string() }, ['iat'])) }),
      },
    }),
  },
  ['metadata', 'spec'],
  'Limits for a group of Applications: which sources, which destinations, which kinds.',
);

function crd({ plural, kind, shortNames }, schema, columns) {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.argoproj.io`,
      labels: { 'app.kubernetes.io/name': `${plural}.argoproj.io`, 'app.kubernetes.io/part-of': 'argocd' },
    },
    spec: {
      group: 'argoproj.io',
      names: { kind, listKind: `${kind}List`, plural, shortNames, singular: kind.toLowerCase() },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          subresources: {},
          ...(columns ? { additionalPrinterColumns: columns } : {}),
          schema: { openAPIV3Schema: schema },
        },
      ],
    },
  };
}

const column = (name, jsonPath, extra = {}) => ({ name, type: 'string', jsonPath, ...extra });
const files = {
  'application-crd.yaml': crd(
    { plural: 'applications', kind: 'Application', shortNames: ['app', 'apps'] },
    application,
    [
      column('Sync Status', '.status.sync.status'),
      column('Health Status', '.status.health.status'),
      column('Revision', '.status.sync.revision', { priority: 10 }),
      column('Project', '.spec.project', { priority: 10 }),
    ],
  ),
  'appproject-crd.yaml': crd(
    { plural: 'appprojects', kind: 'AppProject', shortNames: ['appproj', 'appprojs'] },
    appProject,
  ),
};

for (const [name, value] of Object.entries(files)) {
  const text = dump(value, { noRefs: true, lineWidth: 140 });
  put(join(root, 'manifests', 'crds', name), `# Written by scripts/generate/crds.mjs: change it there.\n${text}`);
}
