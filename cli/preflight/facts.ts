import { parseGoBool } from '#base';
import { credentialPrefix, normalizeGitUrl } from '#model';
import type { AppProject, Application, Cluster, KubeObject, Settings } from '#model';
import { parseRepositorySecret } from '#settings';
import type { SettingsNote, SettingsProblem } from '#settings';

/**
 * Facts about a repository or repo-creds Secret. Names of keys, never values: enough to know which
 * type of credentials it holds.
 */
export interface RepositoryFacts {
  /** `argocd/name`. */
  readonly secret: string;
  /** repo-creds Secret: the URL is a prefix, and the project is ignored. */
  readonly template: boolean;
  readonly url: string;
  readonly project: string;
  readonly hasCredentials: boolean;
  /** Keys with a value that is not empty. */
  readonly keys: ReadonlySet<string>;
  /** Keys whose value is true. */
  readonly on: ReadonlySet<string>;
}

/** The workload of Argo CD's controller, as far as it can be read. */
export interface WorkloadFacts {
  readonly kind: 'StatefulSet' | 'Deployment';
  readonly name: string;
  readonly replicas: number;
  /**
   * Environment variables with a literal value, and flags: what was added to the manifest by hand.
   */
  readonly env: ReadonlyMap<string, string>;
  readonly flags: ReadonlySet<string>;
  /** It has an address of Redis or credentials for it, also from a Secret. */
  readonly hasRedis: boolean;
}

/** An installation of Argo CD as plain values: the input of all feature detection. */
export interface InstallationFacts {
  readonly namespace: string;
  readonly settings: Settings;
  /** Entries of argocd-cm and Secrets that could not be parsed. */
  readonly problems: readonly SettingsProblem[];
  /** Settings of argocd-cm that have less effect than in Argo CD. */
  readonly weaker: readonly SettingsNote[];
  /**
   * argocd-cm has the label `app.kubernetes.io/part-of: argocd`, which Argo CD requires. True if
   * there is no argocd-cm.
   */
  readonly labelled: boolean;
  /** argocd-cm exists. */
  readonly hasSettings: boolean;
  /** argocd-cmd-params-cm. */
  readonly params: Readonly<Record<string, string>>;
  /** As listed, including the implicit in-cluster one; several may share a URL. */
  readonly clusters: readonly Cluster[];
  readonly repositories: readonly RepositoryFacts[];
  readonly projects: ReadonlyMap<string, AppProject>;
  /** Applications of the controller's namespace and of `application.namespaces`. */
  readonly applications: readonly Application[];
  /** Undefined if it does not exist or cannot be read. */
  readonly workload: WorkloadFacts | undefined;
  /** The Deployment of the repo-server; undefined if it does not exist or cannot be read. */
  readonly repoServer: WorkloadFacts | undefined;
}

/**
 * Facts about a repository Secret; undefined if it is malformed, which is reported as a problem.
 */
export function repositoryFacts(secret: KubeObject, template: boolean): RepositoryFacts | undefined {
  const parsed = parseRepositorySecret(secret);
  if ('error' in parsed) return undefined;
  const data = Object.entries(secret['data'] ?? {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '',
  );
  const { url, project = '' } = parsed.repository;
  return {
    secret: `${secret.metadata.namespace ?? ''}/${secret.metadata.name ?? ''}`,
    template,
    url,
    project: template ? '' : project,
    hasCredentials: parsed.hasCredentials,
    keys: new Set(data.map(([key]) => key)),
    on: new Set(data.filter(([, value]) => isTrue(Buffer.from(value, 'base64').toString('utf8'))).map(([key]) => key)),
  };
}

/**
 * Secrets that apply to a URL in a project: the repository's own, and the template that supplies
 * credentials (Argo CD: util/db, GetRepository). The longest prefix wins, and only for a repository
 * without credentials.
 */
export function secretsFor(url: string, project: string, all: readonly RepositoryFacts[]): readonly RepositoryFacts[] {
  const wanted = normalizeGitUrl(url);
  if (wanted === '') return [];
  const same = all.filter((each) => !each.template && normalizeGitUrl(each.url) === wanted);
  const own = same.find((each) => each.project === project) ?? same.find((each) => each.project === '');
  if (own?.hasCredentials === true) return [own];
  const lenders = all.filter((each) => each.template && wanted.startsWith(credentialPrefix(each.url)));
  const [lender] = lenders.sort((a, b) => credentialPrefix(b.url).length - credentialPrefix(a.url).length);
  return [own, lender].filter((each) => each !== undefined);
}

/**
 * Flags and variables of the workload. Those that come from a ConfigMap are read from argocd-cmd-
 * params-cm.
 */
export function workloadFacts(object: KubeObject): WorkloadFacts {
  const spec = record(object['spec']);
  const containers = list(record(record(spec['template'])['spec'])['containers']).map(record);
  const words = containers.flatMap((each) => [...list(each['command']), ...list(each['args'])]);
  const env = containers.flatMap((each) => list(each['env']).map(record));
  const replicas = spec['replicas'];
  const flags = new Set(
    words.flatMap((word) => (typeof word === 'string' ? (/^--([a-z0-9][a-z0-9-]*)/.exec(word)?.slice(1) ?? []) : [])),
  );
  return {
    kind: object.kind === 'Deployment' ? 'Deployment' : 'StatefulSet',
    name: object.metadata.name ?? '',
    replicas: typeof replicas === 'number' ? replicas : 1,
    env: new Map(
      env.flatMap(({ name, value }): [string, string][] =>
        typeof name === 'string' && typeof value === 'string' && value !== '' ? [[name, value]] : [],
      ),
    ),
    flags,
    hasRedis:
      env.some((each) => redisVariables.has(String(each['name'])) && (isSecretValue(each) || isText(each['value']))) ||
      flags.has('redis') ||
      flags.has('sentinel'),
  };
}

/** Variables that make the controller use Redis. A ConfigMap may set them too: see `params`. */
const redisVariables: ReadonlySet<string> = new Set([
  'REDIS_SERVER',
  'REDIS_SENTINEL_HOSTS',
  'REDIS_PASSWORD',
  'REDIS_CREDS_DIR_PATH',
]);

function isSecretValue(variable: Readonly<Record<string, unknown>>): boolean {
  return 'secretKeyRef' in record(variable['valueFrom']);
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

/** Go's strconv.ParseBool; an invalid value is false. */
export function isTrue(text: string | undefined): boolean {
  return parseGoBool(text) === true;
}

/** A list or map that is not empty. */
export function isSomething(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}
