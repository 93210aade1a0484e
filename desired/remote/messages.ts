import { isObject, parseGoBool, stringifyJson } from '#base';
import type { Json, JsonObject } from '#base';
import { isArtifact } from '#model';
import type { ApplicationSource, Repository } from '#model';
import { checkRepository } from '../fetch/shared/input-checks.ts';
import { secretsIn } from '../given-secrets.ts';
import type { ManifestsRequest, RequestedSource, SignatureDemand } from '../types.ts';

/**
 * Messages as plain values with the field names of protocol.ts. Null and missing fields are not
 * sent.
 */
export type ProtoMessage = Readonly<Record<string, unknown>>;

/** Fields of a request that no answer may show. */
const secretKeys = [
  'password',
  'bearerToken',
  'sshPrivateKey',
  'tlsClientCertKey',
  'githubAppPrivateKey',
  'gcpServiceAccountKey',
  'azureServicePrincipalClientSecret',
] as const;

const switches = [
  'insecure',
  'insecureIgnoreHostKey',
  'enableLfs',
  'enableOCI',
  'insecureOCIForceHttp',
  'forceHttpBasicAuth',
  'useAzureWorkloadIdentity',
  'webhookManifestCacheWarmDisabled',
];
const numbers = ['githubAppID', 'githubAppInstallationID', 'depth'];

/** A repository with its credentials. */
export function repositoryMessage(repository: Repository): ProtoMessage {
  checkRepository(repository);
  const { url, inheritedCreds } = repository;
  return { ...credentialsOf(repository), repo: url, inheritedCreds };
}

/** Credentials for every repository below a URL. */
export function templateMessage(repository: Repository): ProtoMessage {
  return { ...credentialsOf(repository), url: repository.url };
}

function credentialsOf(repository: Repository): Record<string, unknown> {
  const { secretData } = repository;
  if (secretData === undefined) return credentialsOfModel(repository);
  const message: Record<string, unknown> = {};
  for (const [key, secret] of Object.entries(secretData)) message[key] = valueOf(key, secret.reveal());
  // Credential templates spell these two differently.
  message['azureServicePrincipalClientId'] ??= message['azureServicePrincipalClientID'];
  message['azureServicePrincipalTenantId'] ??= message['azureServicePrincipalTenantID'];
  return message;
}

function valueOf(key: string, text: string): unknown {
  if (switches.includes(key)) return parseGoBool(text) === true;
  if (numbers.includes(key)) return Number.parseInt(text, 10) || 0;
  return text;
}

/** For a repository without a Secret. It has no type, as in Argo CD. */
function credentialsOfModel(repository: Repository): Record<string, unknown> {
  const { githubApp, enableOci, ociForceHttp, insecure } = repository;
  const { type, name, project, username, proxy, noProxy } = repository;
  const plain = { name, project, username, proxy, noProxy, insecure, enableOCI: enableOci };
  return {
    ...plain,
    ...(type === 'git' ? {} : { type }),
    insecureOCIForceHttp: ociForceHttp,
    password: repository.password?.reveal(),
    bearerToken: repository.bearerToken?.reveal(),
    sshPrivateKey: repository.sshPrivateKey?.reveal(),
    tlsClientCertData: repository.tlsClientCertData?.reveal(),
    tlsClientCertKey: repository.tlsClientCertKey?.reveal(),
    ...(githubApp === undefined
      ? {}
      : {
          githubAppPrivateKey: githubApp.privateKey.reveal(),
          githubAppID: Number(githubApp.id),
          githubAppInstallationID: Number(githubApp.installationId),
          githubAppEnterpriseBaseUrl: githubApp.baseUrl,
        }),
  };
}

/** Masking shorter texts would garble every message and protect nothing. */
const minSecretLength = 4;

/** Returns every secret in the messages of a request, to mask them in answers. */
export function secretsOf({
  sources,
  repositories,
}: Pick<ManifestsRequest, 'sources' | 'repositories'>): readonly string[] {
  const all = [
    ...sources.map(({ repository }) => repository),
    ...repositories.repositories,
    ...repositories.credentials,
  ];
  const found = new Set<string>();
  for (const repository of all) {
    const message = credentialsOf(repository);
    for (const key of secretKeys) {
      const text = message[key];
      if (typeof text === 'string' && text.trim().length >= minSecretLength) found.add(text.trim());
    }
  }
  for (const { source } of sources) for (const value of secretsIn(source)) found.add(value);
  return [...found].sort((a, b) => b.length - a.length);
}

/** Presence matters to the server: an empty `helm` marks the source as a chart. */
export function sourceMessage(source: ApplicationSource): ProtoMessage {
  const { helm, kustomize, directory, plugin, ...plain } = source;
  return {
    ...plain,
    ...(isObject(helm) ? { helm: helmMessage(helm) } : {}),
    ...(isObject(kustomize) ? { kustomize: kustomizeMessage(kustomize) } : {}),
    ...(isObject(directory) ? { directory } : {}),
    ...(isObject(plugin)
      ? { plugin: { ...plugin, parameters: list(plugin['parameters']).map(parameterMessage) } }
      : {}),
  };
}

function helmMessage({ valuesObject, ...helm }: JsonObject): ProtoMessage {
  // As JSON, which keeps all digits of integers.
  return isObject(valuesObject) ? { ...helm, valuesObject: { raw: Buffer.from(stringifyJson(valuesObject)) } } : helm;
}

function kustomizeMessage(kustomize: JsonObject): ProtoMessage {
  return {
    ...kustomize,
    replicas: list(kustomize['replicas']).map(({ name, count }) => ({ name, count: intOrString(count) })),
    patches: list(kustomize['patches']).map(({ target, ...patch }) =>
      isObject(target) ? { ...patch, target: selectorMessage(target) } : patch,
    ),
  };
}

function intOrString(value: Json | undefined): ProtoMessage | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? { type: 1, strVal: value } : { type: 0, intVal: value };
}

function selectorMessage(target: JsonObject): ProtoMessage {
  const { group, version, kind, name, namespace, annotationSelector, labelSelector } = target;
  return { resId: { gvk: { group, version, kind }, name, namespace }, annotationSelector, labelSelector };
}

/** An empty map or array differs from a missing one. */
function parameterMessage({ name, string, map, array }: JsonObject): ProtoMessage {
  return {
    name,
    string,
    ...(isObject(map) ? { map: { map } } : {}),
    ...(Array.isArray(array) ? { array: { array } } : {}),
  };
}

function list(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly Json[]).filter(isObject) : [];
}

/** The sources that others may reference as `$name`. */
export function referencesMessage(sources: readonly RequestedSource[]): ProtoMessage {
  const named = sources.filter(({ source }) => (source.ref ?? '') !== '');
  return Object.fromEntries(
    named.map(({ source, repository, revision }) => [
      `$${source.ref ?? ''}`,
      { repo: repositoryMessage(repository), targetRevision: revision, chart: source.chart ?? '' },
    ]),
  );
}

/**
 * One policy that matches every repository URL: this process has already decided that it applies,
 * also for other spellings of the URL.
 */
export function integrityMessage({ mode, keys }: SignatureDemand): ProtoMessage {
  return { git: { policies: [{ repos: [{ url: '*' }], gpg: { mode, keys } }] } };
}

/** The fields that all requests share. */
export function commonMessage(request: ManifestsRequest): ProtoMessage {
  const { tracking, cluster, appName, namespace, cache } = request;
  return {
    appName,
    namespace,
    noRevisionCache: cache.revision !== 'cached',
    kubeVersion: cluster.kubeVersion,
    apiVersions: cluster.apiVersions,
    appLabelKey: tracking?.labelKey ?? '',
    trackingMethod: tracking?.method ?? '',
    installationID: tracking?.installationId ?? '',
    hasMultipleSources: request.sources.length > 1 || request.sources.some(({ source }) => (source.ref ?? '') !== ''),
  };
}

/**
 * The fields of GenerateManifest besides the repository, the source, its revision and its
 * references.
 */
export function manifestMessage(request: ManifestsRequest, source: ApplicationSource): ProtoMessage {
  const { repositories, credentials } = request.repositories;
  const isOci = isArtifact(source);
  const reachable = ({ type }: Repository): boolean => type === 'helm' || (isOci && type === 'oci');
  return {
    ...commonMessage(request),
    noCache: request.cache.manifests === 'rerender',
    repos: repositories.filter(reachable).map(repositoryMessage),
    helmRepoCreds: credentials.filter(reachable).map(templateMessage),
    projectName: request.project,
    projectSourceRepos: request.projectSourceRepos ?? [],
    annotationManifestGeneratePaths: request.watched?.annotation ?? '',
    ...optionsMessage(request),
  };
}

function optionsMessage({ options }: ManifestsRequest): ProtoMessage {
  const { kustomizeBuildOptions, kustomizeVersions, kustomizeVersionOptions = {}, enabledTypes } = options;
  const versions = Object.entries(kustomizeVersions).map(([name, path]) => {
    const own = kustomizeVersionOptions[name];
    return own === undefined ? { name, path } : { name, path, buildOptions: own };
  });
  return {
    kustomizeOptions: { buildOptions: kustomizeBuildOptions, versions },
    helmOptions: { valuesFileSchemes: options.valuesFileSchemes },
    enabledSourceTypes: { Directory: true, Helm: true, Kustomize: true, Plugin: true, ...enabledTypes },
  };
}
