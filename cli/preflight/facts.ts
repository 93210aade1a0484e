import { parseGoBool } from '#base';
import { normalizeGitUrl } from '#model';
import type { AppProject, Application, Cluster, KubeObject, Settings } from '#model';
import { parseRepositorySecret } from '#settings';
import type { Problem } from '#settings';

/** What a repository or repo-creds Secret says about itself. Names of keys, never values: enough to tell which sort of credentials it holds. */
export interface RepositoryFacts {
  /** `argocd/name`. */
  readonly secret: string;
  /** repo-creds: the URL is a prefix, and projects do not matter. */
  readonly template: boolean;
  readonly url: string;
  readonly project: string;
  readonly hasCredentials: boolean;
  /** Keys that hold something. */
  readonly keys: ReadonlySet<string>;
  /** Keys that hold a true boolean. */
  readonly on: ReadonlySet<string>;
}

/** The StatefulSet or Deployment of Argo CD's own controller, as far as it may be read. */
export interface WorkloadFacts {
  readonly kind: 'StatefulSet' | 'Deployment';
  readonly name: string;
  readonly replicas: number;
  /** Names of environment variables with a value of their own, and of flags: what somebody has added to the manifest. */
  readonly env: ReadonlyMap<string, string>;
  readonly flags: ReadonlySet<string>;
}

/** An installation of Argo CD as values: all that features are told from. */
export interface Installation {
  readonly namespace: string;
  readonly settings: Settings;
  /** Entries of argocd-cm and of Secrets that could not be read. */
  readonly problems: readonly Problem[];
  /** What of argocd-cm is in force, but does less than in Argo CD. */
  readonly weaker: readonly Problem[];
  /** argocd-cm carries `app.kubernetes.io/part-of: argocd`: without it Argo CD does not see it. True when there is no argocd-cm. */
  readonly labelled: boolean;
  /** argocd-cmd-params-cm. */
  readonly params: Readonly<Record<string, string>>;
  /** As listed: several may have one URL. With the implicit one. */
  readonly clusters: readonly Cluster[];
  readonly repositories: readonly RepositoryFacts[];
  readonly projects: ReadonlyMap<string, AppProject>;
  /** Those of the controller's namespace and of `application.namespaces`. */
  readonly applications: readonly Application[];
  /** Undefined: not there, or not to be seen. */
  readonly workload: WorkloadFacts | undefined;
}

/** What is to be known of a repository Secret; undefined for one that cannot be read, which is a problem and told elsewhere. */
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
 * The Secrets that speak for a URL in a project: the repository's own, and the template that lends it credentials (Argo CD: util/db,
 * GetRepository). The longest prefix lends, and only to a repository without credentials.
 */
export function secretsFor(url: string, project: string, all: readonly RepositoryFacts[]): readonly RepositoryFacts[] {
  const wanted = normalizeGitUrl(url);
  if (wanted === '') return [];
  const same = all.filter((each) => !each.template && normalizeGitUrl(each.url) === wanted);
  const own = same.find((each) => each.project === project) ?? same.find((each) => each.project === '');
  if (own?.hasCredentials === true) return [own];
  const lenders = all.filter((each) => each.template && wanted.startsWith(normalizeGitUrl(each.url)));
  const [lender] = lenders.sort((a, b) => normalizeGitUrl(b.url).length - normalizeGitUrl(a.url).length);
  return [own, lender].filter((each) => each !== undefined);
}

/** The workload's own flags and variables. Those that come from a ConfigMap are told from argocd-cmd-params-cm. */
export function workloadFacts(object: KubeObject): WorkloadFacts {
  const spec = record(object['spec']);
  const containers = list(record(record(spec['template'])['spec'])['containers']).map(record);
  const words = containers.flatMap((each) => [...list(each['command']), ...list(each['args'])]);
  const env = containers.flatMap((each) => list(each['env']).map(record));
  const replicas = spec['replicas'];
  return {
    kind: object.kind === 'Deployment' ? 'Deployment' : 'StatefulSet',
    name: object.metadata.name ?? '',
    replicas: typeof replicas === 'number' ? replicas : 1,
    env: new Map(
      env.flatMap(({ name, value }): [string, string][] =>
        typeof name === 'string' && typeof value === 'string' && value !== '' ? [[name, value]] : [],
      ),
    ),
    flags: new Set(
      words.flatMap((word) => (typeof word === 'string' ? (/^--([a-z0-9][a-z0-9-]*)/.exec(word)?.slice(1) ?? []) : [])),
    ),
  };
}

/** Go's strconv.ParseBool; anything else is no. */
export function isTrue(text: string | undefined): boolean {
  return parseGoBool(text) === true;
}

/** A list or map with something in it. */
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
