import { resolve } from 'node:path';
import { defined, isObject, valueAt } from '#base';
import type { Json, JsonObject } from '#base';
import type { ImpersonatedUser } from '#model';

/** A kubeconfig file, or several merged. Paths of files are absolute. */
export interface Kubeconfig {
  readonly currentContext: string | undefined;
  readonly clusters: readonly KubeconfigCluster[];
  readonly users: readonly KubeconfigUser[];
  readonly contexts: readonly KubeconfigContext[];
}

export interface KubeconfigCluster {
  readonly name: string;
  readonly server: string;
  readonly insecure: boolean;
  /** Base64. */
  readonly caData?: string;
  readonly caFile?: string;
  readonly tlsServerName?: string;
  readonly proxyUrl?: string;
}

export interface KubeconfigUser {
  readonly name: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly username?: string;
  readonly password?: string;
  /** Base64, like `keyData`. */
  readonly certData?: string;
  readonly certFile?: string;
  readonly keyData?: string;
  readonly keyFile?: string;
  readonly exec?: JsonObject;
  /** The name of a provider that Kubernetes 1.26 removed. */
  readonly authProvider?: string;
  readonly acting: ImpersonatedUser;
}

export interface KubeconfigContext {
  readonly name: string;
  readonly cluster: string;
  readonly user: string;
  readonly namespace?: string;
}

/**
 * Reads the fields of client-go's clientcmd. Like there, an incomplete entry is an error only when
 * it is used, and relative paths begin at the folder of the file.
 * @throws Error with the position of an entry that has no name or a field of another type
 */
export function parseKubeconfig(root: JsonObject, folder: string): Kubeconfig {
  return {
    currentContext: textAt(root, 'current-context', 'the kubeconfig'),
    clusters: entriesOf(root, 'clusters').map(({ name, where }) => clusterOf(name, where, folder)),
    users: entriesOf(root, 'users').map(({ name, where }) => userOf(name, where, folder)),
    contexts: entriesOf(root, 'contexts').map(({ name, where }) => contextOf(name, where)),
  };
}

/** Like kubectl: of entries with one name, and of current contexts, the first counts. */
export function mergeKubeconfigs(configs: readonly Kubeconfig[]): Kubeconfig {
  return {
    currentContext: configs.map(({ currentContext }) => currentContext).find((name) => name !== undefined),
    clusters: firstOfEachName(configs.flatMap(({ clusters }) => clusters)),
    users: firstOfEachName(configs.flatMap(({ users }) => users)),
    contexts: firstOfEachName(configs.flatMap(({ contexts }) => contexts)),
  };
}

function firstOfEachName<T extends { readonly name: string }>(entries: readonly T[]): T[] {
  const seen = new Set<string>();
  return entries.filter(({ name }) => !seen.has(name) && seen.add(name));
}

/** The object inside an entry, and its position for messages. */
interface EntryBody {
  readonly fields: JsonObject;
  readonly position: string;
}

function entriesOf(
  root: JsonObject,
  list: 'clusters' | 'users' | 'contexts',
): { readonly name: string; readonly where: EntryBody }[] {
  const entries = valueAt(root, list) ?? [];
  if (!Array.isArray(entries)) throw new Error(`${list} is not a list`);
  const kind = list.slice(0, -1);
  return (entries as readonly Json[]).map((entry, index) => {
    const name = isObject(entry) ? textAt(entry, 'name', `${list}[${index}]`) : undefined;
    if (name === undefined) throw new Error(`${list}[${index}].name is missing`);
    const fields = valueAt(entry, kind) ?? {};
    const position = `${list}[${index}].${kind}`;
    if (!isObject(fields)) throw new Error(`${position} is not an object`);
    return { name, where: { fields, position } };
  });
}

function clusterOf(name: string, { fields, position }: EntryBody, folder: string): KubeconfigCluster {
  const text = (key: string): string | undefined => textAt(fields, key, position);
  const insecure = valueAt(fields, 'insecure-skip-tls-verify') ?? false;
  if (typeof insecure !== 'boolean') throw new Error(`${position}.insecure-skip-tls-verify is not true or false`);
  return {
    name,
    server: text('server') ?? '',
    insecure,
    ...defined({
      caData: text('certificate-authority-data'),
      caFile: absolutePath(folder, text('certificate-authority')),
      tlsServerName: text('tls-server-name'),
      proxyUrl: text('proxy-url'),
    }),
  };
}

function userOf(name: string, { fields, position }: EntryBody, folder: string): KubeconfigUser {
  const text = (key: string): string | undefined => textAt(fields, key, position);
  const provider = valueAt(fields, 'auth-provider');
  return {
    name,
    ...defined({
      token: text('token'),
      tokenFile: absolutePath(folder, text('tokenFile')),
      username: text('username'),
      password: text('password'),
      certData: text('client-certificate-data'),
      certFile: absolutePath(folder, text('client-certificate')),
      keyData: text('client-key-data'),
      keyFile: absolutePath(folder, text('client-key')),
      exec: execOf(valueAt(fields, 'exec'), folder),
      authProvider: isObject(provider) ? (textAt(provider, 'name', `${position}.auth-provider`) ?? '') : undefined,
    }),
    acting: impersonatedUser(fields, text),
  };
}

/** A command with a slash is a path, which begins at the folder of the file; others are on PATH. */
function execOf(exec: Json | undefined, folder: string): JsonObject | undefined {
  if (!isObject(exec)) return undefined;
  const command = valueAt(exec, 'command');
  return typeof command === 'string' && command.includes('/') ? { ...exec, command: resolve(folder, command) } : exec;
}

function impersonatedUser(fields: JsonObject, text: (key: string) => string | undefined): ImpersonatedUser {
  const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);
  const extra = valueAt(fields, 'as-user-extra');
  return {
    user: text('as') ?? '',
    groups: texts(valueAt(fields, 'as-groups')),
    extra: isObject(extra) ? Object.fromEntries(Object.entries(extra).map(([key, value]) => [key, texts(value)])) : {},
    ...defined({ uid: text('as-uid') }),
  };
}

function contextOf(name: string, { fields, position }: EntryBody): KubeconfigContext {
  return {
    name,
    cluster: textAt(fields, 'cluster', position) ?? '',
    user: textAt(fields, 'user', position) ?? '',
    ...defined({ namespace: textAt(fields, 'namespace', position) }),
  };
}

/** Undefined if it is missing or empty. */
function textAt(fields: JsonObject, key: string, position: string): string | undefined {
  const value = valueAt(fields, key) ?? '';
  // The value may be a password, so the message must not contain it.
  if (typeof value !== 'string') throw new Error(`${position}.${key} is not a string`);
  return value === '' ? undefined : value;
}

function absolutePath(folder: string, path: string | undefined): string | undefined {
  return path === undefined ? undefined : resolve(folder, path);
}
