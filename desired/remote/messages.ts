import { isObject, parseGoBool, stringifyJson } from '#base';
import type { Json, JsonObject } from '#base';
import type { ApplicationSource, Repository } from '#model';
import { secretsIn } from '../given-secrets.ts';
import type { ManifestsRequest, RequestedSource, SignatureDemand } from '../types.ts';

/** Messages as plain values, by the names of protocol.ts. What is null or missing is not sent. */
export type Message = Readonly<Record<string, unknown>>;

/** The texts that a request carries and that no answer may show. */
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
export function repositoryMessage(repository: Repository): Message {
  const { url, inheritedCreds } = repository;
  return { ...credentialsOf(repository), repo: url, inheritedCreds };
}

/** Credentials for every repository below a URL. */
export function templateMessage(repository: Repository): Message {
  return { ...credentialsOf(repository), url: repository.url };
}

function credentialsOf(repository: Repository): Record<string, unknown> {
  const { secretData } = repository;
  if (secretData === undefined) return modelled(repository);
  const message: Record<string, unknown> = {};
  for (const [key, secret] of Object.entries(secretData)) message[key] = valueOf(key, secret.reveal());
  // A template spells these two otherwise.
  message['azureServicePrincipalClientId'] ??= message['azureServicePrincipalClientID'];
  message['azureServicePrincipalTenantId'] ??= message['azureServicePrincipalTenantID'];
  return message;
}

function valueOf(key: string, text: string): unknown {
  if (switches.includes(key)) return parseGoBool(text) === true;
  if (numbers.includes(key)) return Number.parseInt(text, 10) || 0;
  return text;
}

/** Of a repository that no Secret describes, or that was put together elsewhere. Without a type, as Argo CD sends it. */
function modelled(repository: Repository): Record<string, unknown> {
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

/** Shorter ones would make a riddle of every message, and protect nothing. */
const shortestSecret = 4;

/** Every secret that the messages of a request carry: what comes back is held against them. */
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
      if (typeof text === 'string' && text.trim().length >= shortestSecret) found.add(text.trim());
    }
  }
  for (const { source } of sources) for (const value of secretsIn(source)) found.add(value);
  return [...found].sort((a, b) => b.length - a.length);
}

/** A source of a spec. That a member is there counts for the server, too: an empty `helm` says that it is a chart. */
export function sourceMessage(source: ApplicationSource): Message {
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

function helmMessage({ valuesObject, ...helm }: JsonObject): Message {
  // As JSON, in which no integer loses a digit.
  return isObject(valuesObject) ? { ...helm, valuesObject: { raw: Buffer.from(stringifyJson(valuesObject)) } } : helm;
}

function kustomizeMessage(kustomize: JsonObject): Message {
  return {
    ...kustomize,
    replicas: list(kustomize['replicas']).map(({ name, count }) => ({ name, count: intOrString(count) })),
    patches: list(kustomize['patches']).map(({ target, ...patch }) =>
      isObject(target) ? { ...patch, target: selectorMessage(target) } : patch,
    ),
  };
}

function intOrString(value: Json | undefined): Message | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? { type: 1, strVal: value } : { type: 0, intVal: value };
}

function selectorMessage(target: JsonObject): Message {
  const { group, version, kind, name, namespace, annotationSelector, labelSelector } = target;
  return { resId: { gvk: { group, version, kind }, name, namespace }, annotationSelector, labelSelector };
}

/** An empty map or array is something else than none. */
function parameterMessage({ name, string, map, array }: JsonObject): Message {
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

/** The sources that others may refer to, by `$name`. */
export function referencesMessage(sources: readonly RequestedSource[]): Message {
  const named = sources.filter(({ source }) => (source.ref ?? '') !== '');
  return Object.fromEntries(
    named.map(({ source, repository, revision }) => [
      `$${source.ref ?? ''}`,
      { repo: repositoryMessage(repository), targetRevision: revision, chart: source.chart ?? '' },
    ]),
  );
}

/** One policy, for whatever repository it is sent with: that it applies was decided here, also for other spellings of the URL. */
export function integrityMessage({ mode, keys }: SignatureDemand): Message {
  return { git: { policies: [{ repos: [{ url: '*' }], gpg: { mode, keys } }] } };
}

/** What a request says of every source alike. */
export function commonMessage(request: ManifestsRequest): Message {
  const { tracking, cluster, appName, namespace, noRevisionCache } = request;
  return {
    appName,
    namespace,
    noRevisionCache,
    kubeVersion: cluster.kubeVersion,
    apiVersions: cluster.apiVersions,
    appLabelKey: tracking?.labelKey ?? '',
    trackingMethod: tracking?.method ?? '',
    installationID: tracking?.installationId ?? '',
    hasMultipleSources: request.sources.length > 1 || request.sources.some(({ source }) => (source.ref ?? '') !== ''),
  };
}

/** All that GenerateManifest takes beside the repository, the source, its revision and its references. */
export function manifestMessage(request: ManifestsRequest, source: ApplicationSource): Message {
  const { repositories, credentials } = request.repositories;
  const isOci = source.repoURL.startsWith('oci://');
  const reachable = ({ type }: Repository): boolean => type === 'helm' || (isOci && type === 'oci');
  return {
    ...commonMessage(request),
    noCache: request.noCache,
    repos: repositories.filter(reachable).map(repositoryMessage),
    helmRepoCreds: credentials.filter(reachable).map(templateMessage),
    projectName: request.project,
    projectSourceRepos: request.projectSourceRepos ?? [],
    annotationManifestGeneratePaths: request.watched?.annotation ?? '',
    ...optionsMessage(request),
  };
}

function optionsMessage({ options }: ManifestsRequest): Message {
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
