import { defined, isObject, ownMember, parseJson, SecretValue } from '#base';
import type { Json, JsonObject } from '#base';
import { inClusterServer } from '#model';
import type { ClusterConnection, ClusterCredentials } from '#model';
import { stringItems } from './values.ts';

type Shape = 'text' | 'switch' | 'texts' | 'map of texts' | { readonly [member: string]: Shape };

/**
 * The members of the key `config` (Argo CD: ClusterConfig). A credential of another type must not
 * count as absent: the in-cluster would use the identity of the controller.
 */
export const configShape = {
  username: 'text',
  password: 'text',
  bearerToken: 'text',
  proxyUrl: 'text',
  disableCompression: 'switch',
  tlsClientConfig: { insecure: 'switch', serverName: 'text', caData: 'text', certData: 'text', keyData: 'text' },
  awsAuthConfig: { clusterName: 'text', roleARN: 'text', profile: 'text' },
  execProviderConfig: {
    command: 'text',
    args: 'texts',
    env: 'map of texts',
    apiVersion: 'text',
    installHint: 'text',
    provideClusterInfo: 'switch',
  },
} as const satisfies Shape;

export function parseConfig(text: string | undefined): { readonly value: JsonObject } | { readonly error: string } {
  if (text === undefined || text.trim() === '') return { value: {} };
  try {
    const value = parseJson(text);
    if (!isObject(value)) return { error: 'the key "config" is not a JSON object' };
    const fault = shapeFault(value, configShape, 'config');
    return fault === undefined ? { value: withMembers(value, configShape) } : { error: fault };
  } catch {
    // The parser's message may quote its input, which holds credentials.
    return { error: 'the key "config" is not valid JSON' };
  }
}

/** Null counts as absent, as in Go. Go also accepts other letters: those are refused here. */
function shapeFault(value: Json, shape: Shape, where: string): string | undefined {
  if (value === null) return undefined;
  if (typeof shape === 'string') return fits(value, shape) ? undefined : `${where} must be a ${shape}`;
  if (!isObject(value)) return `${where} must be an object`;
  for (const [name, member] of Object.entries(shape)) {
    const written = Object.keys(value).find((key) => key.toLowerCase() === name.toLowerCase());
    if (written === undefined) continue;
    const fault =
      written === name || ownMember(value, name) !== undefined
        ? shapeFault(ownMember(value, name) ?? null, member, `${where}.${name}`)
        : `${where} has a member "${written}", which must be written "${name}"`;
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Only the members of the shape, so that nothing reads a member that is not listed. */
function withMembers(value: JsonObject, shape: object): JsonObject {
  const members = Object.entries(shape).flatMap(
    ([name, member]: [string, Shape]): readonly (readonly [string, Json])[] => {
      const own = ownMember(value, name);
      if (own === undefined) return [];
      return [[name, isObject(own) && typeof member === 'object' ? withMembers(own, member) : own]];
    },
  );
  return Object.fromEntries(members);
}

function fits(value: Json, shape: Exclude<Shape, object>): boolean {
  if (shape === 'text') return typeof value === 'string';
  if (shape === 'switch') return typeof value === 'boolean';
  if (shape === 'texts') return Array.isArray(value) && value.every((item) => typeof item === 'string');
  return isObject(value) && Object.values(value).every((item) => typeof item === 'string');
}

export function connectionOf(
  server: string,
  config: JsonObject,
  inCluster: ClusterConnection | undefined,
): ClusterConnection | { readonly error: string } {
  const proxyUrl = textField(config, 'proxyUrl');
  const proxy = proxyUrl === undefined ? {} : { proxyUrl };
  if (proxyUrl !== undefined && !/^(?:https?|socks5h?):\/\//.test(proxyUrl))
    return { error: 'config.proxyUrl must be an http, https or socks5 URL' };
  const userPass = tokenAndPassword(config);
  if (server === inClusterServer && inCluster !== undefined) {
    const credentials = Object.keys(userPass).length === 0 ? inCluster.credentials : userPass;
    return { ...inCluster, credentials, ...proxy };
  }
  const tlsValue = ownMember(config, 'tlsClientConfig');
  const tls = isObject(tlsValue) ? tlsValue : {};
  const fault = tlsFault(tls, Object.keys(userPass).length > 0 || credentialPlugin(config) !== undefined);
  if (fault !== undefined) return { error: fault };
  const caData = base64Field(tls, 'caData');
  const tlsServerName = textField(tls, 'serverName');
  const exec = credentialPlugin(config);
  const certData = base64Field(tls, 'certData');
  const keyData = base64Field(tls, 'keyData');
  const credentials: ClusterCredentials = {
    ...(exec === undefined ? userPass : { exec }),
    ...(certData === undefined ? {} : { certData: new SecretValue(certData) }),
    ...(keyData === undefined ? {} : { keyData: new SecretValue(keyData) }),
  };
  return {
    server,
    insecure: ownMember(tls, 'insecure') === true,
    ...defined({ caData, tlsServerName }),
    ...proxy,
    credentials,
  };
}

/**
 * Returns why client-go would refuse `tlsClientConfig`, or the cluster would answer Unauthorized;
 * undefined if neither. Half a client certificate is harmless beside other credentials.
 */
function tlsFault(tls: JsonObject, hasOtherCredentials: boolean): string | undefined {
  const where = 'config.tlsClientConfig';
  const [ca, cert, key] = [textField(tls, 'caData'), textField(tls, 'certData'), textField(tls, 'keyData')];
  if (ca !== undefined && ownMember(tls, 'insecure') === true)
    return `${where} has both "insecure" and "caData"; remove one of them`;
  const isPem = (value: string): boolean => Buffer.from(value, 'base64').toString('utf8').includes('-----BEGIN ');
  for (const [name, value] of [
    ['caData', ca],
    ['certData', cert],
    ['keyData', key],
  ] as const)
    if (value !== undefined && !isPem(value)) return `the key "${name}" of ${where} is not base64 of a PEM block`;
  if (hasOtherCredentials || (cert === undefined) === (key === undefined)) return undefined;
  return `the key "${cert === undefined ? 'certData' : 'keyData'}" of ${where} is missing`;
}

function tokenAndPassword(config: JsonObject): ClusterCredentials {
  const [username, password, token] = [
    textField(config, 'username'),
    textField(config, 'password'),
    textField(config, 'bearerToken'),
  ];
  return {
    ...defined({ username }),
    ...(password === undefined ? {} : { password: new SecretValue(password) }),
    ...(token === undefined ? {} : { bearerToken: new SecretValue(token) }),
  };
}

/** awsAuthConfig overrides execProviderConfig; both become a credential plugin. */
function credentialPlugin(config: JsonObject): ClusterCredentials['exec'] {
  const aws = ownMember(config, 'awsAuthConfig');
  if (isObject(aws)) {
    const args = ['aws', '--cluster-name', textField(aws, 'clusterName') ?? ''];
    const role = textField(aws, 'roleARN');
    const profile = textField(aws, 'profile');
    if (role !== undefined) args.push('--role-arn', role);
    if (profile !== undefined) args.push('--profile', profile);
    const apiVersion = 'client.authentication.k8s.io/v1beta1';
    return { command: 'argocd-k8s-auth', args, env: {}, apiVersion, provideClusterInfo: false };
  }
  const plugin = ownMember(config, 'execProviderConfig');
  if (!isObject(plugin)) return undefined;
  const env = ownMember(plugin, 'env');
  const args = ownMember(plugin, 'args');
  return {
    command: textField(plugin, 'command') ?? '',
    args: stringItems(args),
    env: isObject(env) ? textMembers(env) : {},
    apiVersion: textField(plugin, 'apiVersion') ?? 'client.authentication.k8s.io/v1beta1',
    provideClusterInfo: ownMember(plugin, 'provideClusterInfo') === true,
  };
}

function textMembers(object: JsonObject): Readonly<Record<string, string>> {
  const members = Object.entries(object).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return Object.fromEntries(members);
}

function textField(object: JsonObject, key: string): string | undefined {
  const value = ownMember(object, key);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Go encodes []byte as base64. */
function base64Field(object: JsonObject, key: string): string | undefined {
  const value = textField(object, key);
  return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8');
}
