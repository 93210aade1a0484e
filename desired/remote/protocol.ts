import type { MethodDefinition } from '@grpc/grpc-js';
import { serviceMethods } from './grpc.ts';

/**
 * The fields of a message: number and type. `[]` marks a repeated field, `map<…>` a map by the type
 * of its values.
 */
type MessageFields = Readonly<Record<string, readonly [id: number, type: string]>>;

/** Credential fields have the same names as in a credential template, but other numbers. */
const repository: MessageFields = {
  repo: [1, 'string'],
  username: [2, 'string'],
  password: [3, 'string'],
  sshPrivateKey: [4, 'string'],
  insecureIgnoreHostKey: [6, 'bool'],
  insecure: [7, 'bool'],
  enableLfs: [8, 'bool'],
  tlsClientCertData: [9, 'string'],
  tlsClientCertKey: [10, 'string'],
  type: [11, 'string'],
  name: [12, 'string'],
  inheritedCreds: [13, 'bool'],
  enableOCI: [14, 'bool'],
  githubAppPrivateKey: [15, 'string'],
  githubAppID: [16, 'int64'],
  githubAppInstallationID: [17, 'int64'],
  githubAppEnterpriseBaseUrl: [18, 'string'],
  proxy: [19, 'string'],
  project: [20, 'string'],
  gcpServiceAccountKey: [21, 'string'],
  forceHttpBasicAuth: [22, 'bool'],
  noProxy: [23, 'string'],
  useAzureWorkloadIdentity: [24, 'bool'],
  bearerToken: [25, 'string'],
  insecureOCIForceHttp: [26, 'bool'],
  depth: [27, 'int64'],
  webhookManifestCacheWarmDisabled: [28, 'bool'],
  azureServicePrincipalClientId: [29, 'string'],
  azureServicePrincipalClientSecret: [30, 'string'],
  azureServicePrincipalTenantId: [31, 'string'],
  azureActiveDirectoryEndpoint: [32, 'string'],
};

const template: MessageFields = {
  url: [1, 'string'],
  username: [2, 'string'],
  password: [3, 'string'],
  sshPrivateKey: [4, 'string'],
  tlsClientCertData: [5, 'string'],
  tlsClientCertKey: [6, 'string'],
  githubAppPrivateKey: [7, 'string'],
  githubAppID: [8, 'int64'],
  githubAppInstallationID: [9, 'int64'],
  githubAppEnterpriseBaseUrl: [10, 'string'],
  enableOCI: [11, 'bool'],
  type: [12, 'string'],
  gcpServiceAccountKey: [13, 'string'],
  proxy: [19, 'string'],
  forceHttpBasicAuth: [20, 'bool'],
  noProxy: [23, 'string'],
  useAzureWorkloadIdentity: [24, 'bool'],
  bearerToken: [25, 'string'],
  insecureOCIForceHttp: [26, 'bool'],
  azureServicePrincipalClientId: [29, 'string'],
  azureServicePrincipalClientSecret: [30, 'string'],
  azureServicePrincipalTenantId: [31, 'string'],
  azureActiveDirectoryEndpoint: [32, 'string'],
};

const sources: Readonly<Record<string, MessageFields>> = {
  ApplicationSource: {
    repoURL: [1, 'string'],
    path: [2, 'string'],
    targetRevision: [4, 'string'],
    helm: [7, 'Helm'],
    kustomize: [8, 'Kustomize'],
    directory: [10, 'Directory'],
    plugin: [11, 'Plugin'],
    chart: [12, 'string'],
    ref: [13, 'string'],
    name: [14, 'string'],
    tagPrefix: [15, 'string'],
  },
  Helm: {
    valueFiles: [1, 'string[]'],
    parameters: [2, 'HelmParameter[]'],
    releaseName: [3, 'string'],
    values: [4, 'string'],
    fileParameters: [5, 'HelmFileParameter[]'],
    version: [6, 'string'],
    passCredentials: [7, 'bool'],
    ignoreMissingValueFiles: [8, 'bool'],
    skipCrds: [9, 'bool'],
    valuesObject: [10, 'RawExtension'],
    namespace: [11, 'string'],
    kubeVersion: [12, 'string'],
    apiVersions: [13, 'string[]'],
    skipTests: [14, 'bool'],
    skipSchemaValidation: [15, 'bool'],
  },
  HelmParameter: { name: [1, 'string'], value: [2, 'string'], forceString: [3, 'bool'] },
  HelmFileParameter: { name: [1, 'string'], path: [2, 'string'] },
  RawExtension: { raw: [1, 'bytes'] },
  Kustomize: {
    namePrefix: [1, 'string'],
    nameSuffix: [2, 'string'],
    images: [3, 'string[]'],
    commonLabels: [4, 'map<string>'],
    version: [5, 'string'],
    commonAnnotations: [6, 'map<string>'],
    forceCommonLabels: [7, 'bool'],
    forceCommonAnnotations: [8, 'bool'],
    namespace: [9, 'string'],
    commonAnnotationsEnvsubst: [10, 'bool'],
    replicas: [11, 'KustomizeReplica[]'],
    patches: [12, 'KustomizePatch[]'],
    components: [13, 'string[]'],
    labelWithoutSelector: [14, 'bool'],
    kubeVersion: [15, 'string'],
    apiVersions: [16, 'string[]'],
    ignoreMissingComponents: [17, 'bool'],
    labelIncludeTemplates: [18, 'bool'],
  },
  KustomizeReplica: { name: [1, 'string'], count: [2, 'IntOrString'] },
  IntOrString: { type: [1, 'int64'], intVal: [2, 'int32'], strVal: [3, 'string'] },
  KustomizePatch: {
    path: [1, 'string'],
    patch: [2, 'string'],
    target: [3, 'KustomizeSelector'],
    options: [4, 'map<bool>'],
  },
  KustomizeSelector: {
    resId: [1, 'KustomizeResId'],
    annotationSelector: [2, 'string'],
    labelSelector: [3, 'string'],
  },
  KustomizeResId: { gvk: [1, 'KustomizeGvk'], name: [2, 'string'], namespace: [3, 'string'] },
  KustomizeGvk: { group: [1, 'string'], version: [2, 'string'], kind: [3, 'string'] },
  Directory: {
    recurse: [1, 'bool'],
    jsonnet: [2, 'Jsonnet'],
    exclude: [3, 'string'],
    include: [4, 'string'],
    disableExtensionFilter: [5, 'bool'],
  },
  Jsonnet: { extVars: [1, 'JsonnetVar[]'], tlas: [2, 'JsonnetVar[]'], libs: [3, 'string[]'] },
  JsonnetVar: { name: [1, 'string'], value: [2, 'string'], code: [3, 'bool'] },
  Plugin: { name: [1, 'string'], env: [2, 'EnvEntry[]'], parameters: [3, 'PluginParameter[]'] },
  EnvEntry: { name: [1, 'string'], value: [2, 'string'] },
  PluginParameter: {
    name: [1, 'string'],
    map: [3, 'OptionalMap'],
    array: [4, 'OptionalArray'],
    string: [5, 'string'],
  },
  OptionalMap: { map: [1, 'map<string>'] },
  OptionalArray: { array: [1, 'string[]'] },
};

const messages: Readonly<Record<string, MessageFields>> = {
  Repository: repository,
  RepoCreds: template,
  ...sources,
  RefTarget: { repo: [1, 'Repository'], targetRevision: [2, 'string'], chart: [3, 'string'] },
  KustomizeOptions: { buildOptions: [1, 'string'], versions: [3, 'KustomizeVersion[]'] },
  KustomizeVersion: { name: [1, 'string'], path: [2, 'string'], buildOptions: [3, 'string'] },
  HelmOptions: { valuesFileSchemes: [1, 'string[]'] },
  SourceIntegrity: { git: [1, 'GitIntegrity'] },
  GitIntegrity: { policies: [1, 'GitPolicy[]'] },
  GitPolicy: { repos: [1, 'GitPolicyRepo[]'], gpg: [2, 'GitPolicyGpg'] },
  GitPolicyRepo: { url: [1, 'string'] },
  GitPolicyGpg: { mode: [1, 'string'], keys: [3, 'string[]'] },
  CheckResult: { checks: [1, 'CheckResultItem[]'] },
  CheckResultItem: { name: [1, 'string'], problems: [2, 'string[]'] },
  Application: { spec: [2, 'ApplicationSpec'] },
  ApplicationSpec: { source: [1, 'ApplicationSource'] },
  ManifestRequest: {
    repo: [1, 'Repository'],
    revision: [2, 'string'],
    noCache: [3, 'bool'],
    appLabelKey: [4, 'string'],
    appName: [5, 'string'],
    namespace: [8, 'string'],
    applicationSource: [10, 'ApplicationSource'],
    repos: [11, 'Repository[]'],
    kustomizeOptions: [13, 'KustomizeOptions'],
    kubeVersion: [14, 'string'],
    apiVersions: [15, 'string[]'],
    verifySignature: [16, 'bool'],
    helmRepoCreds: [17, 'RepoCreds[]'],
    noRevisionCache: [18, 'bool'],
    trackingMethod: [19, 'string'],
    enabledSourceTypes: [20, 'map<bool>'],
    helmOptions: [21, 'HelmOptions'],
    hasMultipleSources: [22, 'bool'],
    refSources: [23, 'map<RefTarget>'],
    projectSourceRepos: [24, 'string[]'],
    projectName: [25, 'string'],
    annotationManifestGeneratePaths: [26, 'string'],
    installationID: [27, 'string'],
    sourceIntegrity: [28, 'SourceIntegrity'],
  },
  Empty: {},
  PluginList: { items: [1, 'PluginInfo[]'] },
  PluginInfo: { name: [1, 'string'] },
  ManifestResponse: {
    manifests: [1, 'string[]'],
    revision: [4, 'string'],
    sourceType: [6, 'string'],
    verifyResult: [7, 'string'],
    sourceIntegrityResult: [9, 'CheckResult'],
  },
  ResolveRevisionRequest: {
    repo: [1, 'Repository'],
    app: [2, 'Application'],
    ambiguousRevision: [3, 'string'],
    sourceIndex: [4, 'int64'],
    noRevisionCache: [5, 'bool'],
  },
  ResolveRevisionResponse: { revision: [1, 'string'], ambiguousRevision: [2, 'string'] },
  UpdateRevisionForPathsRequest: {
    repo: [1, 'Repository'],
    appLabelKey: [2, 'string'],
    appName: [3, 'string'],
    namespace: [4, 'string'],
    applicationSource: [5, 'ApplicationSource'],
    trackingMethod: [6, 'string'],
    refSources: [7, 'map<RefTarget>'],
    kubeVersion: [8, 'string'],
    apiVersions: [9, 'string[]'],
    hasMultipleSources: [10, 'bool'],
    syncedRevision: [11, 'string'],
    revision: [12, 'string'],
    paths: [13, 'string[]'],
    noRevisionCache: [14, 'bool'],
    installationID: [15, 'string'],
    syncedRefSources: [16, 'map<RefTarget>'],
    sourceIntegrity: [17, 'SourceIntegrity'],
  },
  UpdateRevisionForPathsResponse: { changes: [1, 'bool'], revision: [2, 'string'] },
  RepoServerRevisionMetadataRequest: {
    repo: [1, 'Repository'],
    revision: [2, 'string'],
    checkSignature: [3, 'bool'],
    sourceIntegrity: [4, 'SourceIntegrity'],
  },
  RevisionMetadata: {
    author: [1, 'string'],
    date: [2, 'Time'],
    message: [4, 'string'],
    references: [6, 'RevisionReference[]'],
    sourceIntegrityResult: [7, 'CheckResult'],
  },
  RevisionReference: { commit: [1, 'CommitMetadata'] },
  CommitMetadata: {
    author: [1, 'string'],
    date: [2, 'string'],
    subject: [3, 'string'],
    body: [4, 'string'],
    sha: [5, 'string'],
    repoUrl: [6, 'string'],
  },
  Time: { seconds: [1, 'int64'], nanos: [2, 'int32'] },
};

/** The messages of Argo CD's commit server (commitserver/commit/commit.proto). */
const commitMessages: Readonly<Record<string, MessageFields>> = {
  CommitHydratedManifestsRequest: {
    repo: [1, 'Repository'],
    syncBranch: [2, 'string'],
    targetBranch: [3, 'string'],
    drySha: [4, 'string'],
    commitMessage: [5, 'string'],
    paths: [6, 'PathDetails[]'],
    dryCommitMetadata: [7, 'RevisionMetadata'],
    authorName: [8, 'string'],
    authorEmail: [9, 'string'],
    readmeMessage: [10, 'string'],
  },
  PathDetails: { path: [1, 'string'], manifests: [2, 'HydratedManifestDetails[]'], commands: [3, 'string[]'] },
  HydratedManifestDetails: { manifestJSON: [1, 'string'] },
  CommitHydratedManifestsResponse: { hydratedSha: [1, 'string'] },
};

const methods = {
  ListPlugins: ['Empty', 'PluginList'],
  GenerateManifest: ['ManifestRequest', 'ManifestResponse'],
  ResolveRevision: ['ResolveRevisionRequest', 'ResolveRevisionResponse'],
  UpdateRevisionForPaths: ['UpdateRevisionForPathsRequest', 'UpdateRevisionForPathsResponse'],
  GetRevisionMetadata: ['RepoServerRevisionMetadataRequest', 'RevisionMetadata'],
} as const;

export type MethodName = keyof typeof methods;

function fieldOf(id: number, type: string): object {
  const values = /^map<(.+)>$/.exec(type)?.[1];
  if (values !== undefined) return { keyType: 'string', type: values, id };
  return type.endsWith('[]') ? { rule: 'repeated', type: type.slice(0, -2), id } : { type, id };
}

function typeOf(members: MessageFields): object {
  return { fields: Object.fromEntries(Object.entries(members).map(([name, [id, type]]) => [name, fieldOf(id, type)])) };
}

/**
 * Argo CD's repo-server service by field numbers (reposerver/repository/repository.proto,
 * pkg/apis/application/v1alpha1): the methods that a controller calls, and the fields that it sends
 * and reads.
 */
const described = {
  nested: {
    repository: {
      nested: {
        ...Object.fromEntries(Object.entries(messages).map(([name, members]) => [name, typeOf(members)])),
        RepoServerService: {
          methods: Object.fromEntries(
            Object.entries(methods).map(([name, [requestType, responseType]]) => [name, { requestType, responseType }]),
          ),
        },
      },
    },
  },
};

const commitService = {
  nested: {
    ...Object.fromEntries(
      Object.entries({ ...messages, ...commitMessages }).map(([name, members]) => [name, typeOf(members)]),
    ),
    CommitService: {
      methods: {
        CommitHydratedManifests: {
          requestType: 'CommitHydratedManifestsRequest',
          responseType: 'CommitHydratedManifestsResponse',
        },
      },
    },
  },
};

/** The service of Argo CD's commit server; also for servers in tests. */
export const commitServerMethods = serviceMethods(commitService, 'CommitService', { longs: Number, defaults: true });

/** Its only method. */
export function commitMethod(): MethodDefinition<object, object> {
  return commitServerMethods()['CommitHydratedManifests'] as MethodDefinition<object, object>;
}

/** The methods of the service; also for servers in tests. */
export const repoServerMethods = serviceMethods(described, 'repository.RepoServerService', {
  longs: Number,
  defaults: true,
});

export function methodOf(name: MethodName): MethodDefinition<object, object> {
  const method: MethodDefinition<object, object> | undefined = repoServerMethods()[name];
  if (method === undefined) throw new TypeError(`the repo-server has no method ${name}`);
  return method;
}
