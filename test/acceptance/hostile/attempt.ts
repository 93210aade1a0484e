import type { JsonObject } from '#base';

/** Targets that a tenant must not reach, in the form in which a tenant would refer to them. */
export interface HostileTargets {
  /** The controller's cache folder, and files of the controller outside it. */
  readonly cacheFolder: string;
  readonly cacheFile: string;
  readonly privateFile: string;
  readonly tokenFile: string;
  /** Process id of the controller. */
  readonly pid: number;
  readonly environmentName: string;
  /** `host:port` of a server on loopback that answers each request with a canary. */
  readonly port: number;
  readonly socket: string;
  /** file:// URL of an honest repository with `dir-ok` and `helm-ok`. */
  readonly repository: string;
}

/** A link has a target, a submodule a commit of its repository. */
export type RepositoryFile = string | Buffer | { readonly link: string } | { readonly submodule: string };

/** An Application of a hostile tenant, and its repository. */
export interface HostileAttempt {
  readonly name: string;
  readonly files?: Readonly<Record<string, RepositoryFile>>;
  /** Overrides `repoURL`, `path` and `targetRevision` of the attempt's own repository. */
  readonly source?: JsonObject;
  /** Replaces `source`. An entry without `repoURL` uses the attempt's own repository. */
  readonly sources?: readonly JsonObject[];
}

/** An absolute path as a relative path that works in any folder of the machine. */
export const climb = (path: string, depth = 24): string => `${'../'.repeat(depth)}${path.slice(1)}`;

/** Each file of the controller as absolute path, as URL and relative to the folder of a source. */
export function pathsOf(targets: HostileTargets): readonly string[] {
  const { cacheFile, privateFile, tokenFile, pid } = targets;
  const processes = [`/proc/${pid}/environ`, '/proc/self/environ', '/proc/1/environ'];
  return [
    ...[cacheFile, privateFile, tokenFile].flatMap((path) => [path, climb(path)]),
    ...processes,
    climb(`/proc/${pid}/environ`),
    `file://${tokenFile}`,
    `/proc/${pid}/root${privateFile}`,
  ];
}

/** One attempt per item: `name-0`, `name-1` … */
export function each<T>(items: readonly T[], attempt: (item: T, index: number) => HostileAttempt): HostileAttempt[] {
  return items.map((item, index) => {
    const made = attempt(item, index);
    return { ...made, name: `${made.name}-${index}` };
  });
}

/** The manifest of a ConfigMap. */
export const configMap = (name: string, data: Readonly<Record<string, string>>): string =>
  [
    'apiVersion: v1',
    'kind: ConfigMap',
    `metadata: {name: ${name}}`,
    'data:',
    ...Object.entries(data).map(([key, value]) => `  ${key}: ${value}`),
    '',
  ].join('\n');
