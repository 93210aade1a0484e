import { defined, outsideText, parseSecondsOrDuration, SecretValue, UsageError } from '#base';
import type { ClusterConnection, ClusterCredentials, ImpersonatedUser } from '#model';
import { readText } from './read-text.ts';

/** Values of kubectl's connection flags, as written. Absent or empty means not set. */
export interface ConnectionOverrides {
  /** A cluster of the kubeconfig, instead of the context's. */
  readonly cluster?: string;
  /** A user of the kubeconfig, instead of the context's. */
  readonly user?: string;
  readonly server?: string;
  readonly certificateAuthority?: string;
  readonly insecureSkipTlsVerify?: boolean;
  readonly tlsServerName?: string;
  readonly proxyUrl?: string;
  readonly token?: SecretValue;
  readonly username?: string;
  readonly password?: SecretValue;
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  readonly as?: string;
  readonly asGroups?: readonly string[];
  readonly asUid?: string;
  /** Whole seconds or a Go duration; 0 means no timeout. */
  readonly requestTimeout?: string;
}

/**
 * Applies the overrides like client-go's clientcmd (DirectClientConfig: getCluster, getAuthInfo,
 * ConfirmUsable): a new server also drops the configured TLS server name; a CA and "insecure"
 * replace each other; a token and a user name are mutually exclusive.
 *
 * Differences: credentials given here also replace a configured token file (in client-go the file
 * wins), and they are sent over plain HTTP, too.
 *
 * @throws UsageError in one line, for flags that contradict each other and files that cannot be
 * read.
 */
export async function applyOverrides(
  connection: ClusterConnection,
  overrides: ConnectionOverrides,
): Promise<ClusterConnection> {
  const credentials = await credentialsWith(connection.credentials, overrides);
  const trust = await trustWith(connection, overrides);
  const { tlsServerName, proxyUrl, impersonate, requestTimeoutMs } = connection;
  const secure = trust.insecure || trust.caData !== undefined || credentials.certData !== undefined;
  const server = serverOf(nonEmptyText(overrides.server), secure) ?? connection.server;
  const name =
    nonEmptyText(overrides.tlsServerName) ?? (nonEmptyText(overrides.server) === undefined ? tlsServerName : undefined);
  const proxy = nonEmptyText(overrides.proxyUrl) ?? proxyUrl;
  const acting = impersonationWith(impersonate, overrides);
  const timeoutMs = timeoutMsFrom(overrides.requestTimeout) ?? requestTimeoutMs;
  return {
    ...trust,
    server,
    credentials,
    ...defined({ tlsServerName: name, proxyUrl: proxy, impersonate: acting, requestTimeoutMs: timeoutMs }),
  };
}

/**
 * @throws UsageError for a group, UID or extra without a user, and for values that no header can
 * hold.
 */
export function checkedImpersonation(acting: ImpersonatedUser): ImpersonatedUser | undefined {
  const { user, uid = '', groups, extra } = acting;
  const also = uid !== '' || groups.length > 0 || Object.keys(extra).length > 0;
  if (user === '' && also)
    throw new UsageError('a user must be named to act as beside its groups, UID or extra fields');
  // A line break would start another header.
  const texts = [user, uid, ...groups, ...Object.values(extra).flat()];
  if (texts.some((text) => /[^\t\x20-\x7e\u0080-\u00ff]/u.test(text)))
    throw new UsageError('the user to act as, its groups and UID must be made of characters that a header can hold');
  return user === '' ? undefined : acting;
}

function impersonationWith(
  acting: ImpersonatedUser | undefined,
  overrides: ConnectionOverrides,
): ImpersonatedUser | undefined {
  const uid = nonEmptyText(overrides.asUid) ?? acting?.uid;
  const groups = overrides.asGroups ?? [];
  return checkedImpersonation({
    user: nonEmptyText(overrides.as) ?? acting?.user ?? '',
    groups: groups.length > 0 ? groups : (acting?.groups ?? []),
    extra: acting?.extra ?? {},
    ...defined({ uid }),
  });
}

type TlsTrust = Pick<ClusterConnection, 'insecure' | 'caData'>;

async function trustWith(connection: ClusterConnection, overrides: ConnectionOverrides): Promise<TlsTrust> {
  const file = nonEmptyText(overrides.certificateAuthority);
  const insecure = overrides.insecureSkipTlsVerify === true;
  if (file !== undefined && insecure)
    throw new UsageError('--certificate-authority and --insecure-skip-tls-verify exclude each other');
  if (file !== undefined) return { insecure, caData: await readText(file, `certificate authority ${file}`) };
  if (insecure) return { insecure };
  const { caData } = connection;
  return { insecure: connection.insecure, ...defined({ caData }) };
}

async function credentialsWith(
  credentials: ClusterCredentials,
  overrides: ConnectionOverrides,
): Promise<ClusterCredentials> {
  const token = overrides.token?.reveal() === '' ? undefined : overrides.token;
  const username = nonEmptyText(overrides.username);
  const password = overrides.password?.reveal() === '' ? undefined : overrides.password;
  const given = { ...credentials };
  // Credentials given here replace those of a plugin or a file.
  if (token !== undefined || username !== undefined || password !== undefined) {
    delete given.exec;
    delete given.bearerTokenFile;
  }
  const files = await certificateOf(overrides);
  const result: ClusterCredentials = {
    ...given,
    ...files,
    ...(token === undefined ? {} : { bearerToken: new SecretValue(token.reveal().trim()) }),
    ...defined({ username, password }),
  };
  const basic = result.username !== undefined || result.password !== undefined;
  if (result.bearerToken !== undefined && basic)
    throw new UsageError(
      'more than one way to authenticate: a token, and a user name or password; only one is allowed',
    );
  if (files.certData !== undefined && result.keyData === undefined)
    throw new UsageError('--client-certificate needs its key: name it with --client-key');
  return result;
}

async function certificateOf(
  overrides: ConnectionOverrides,
): Promise<Pick<ClusterCredentials, 'certData' | 'keyData'>> {
  const [cert, key] = [nonEmptyText(overrides.clientCertificate), nonEmptyText(overrides.clientKey)];
  return {
    ...(cert === undefined ? {} : { certData: new SecretValue(await readText(cert, `client certificate ${cert}`)) }),
    ...(key === undefined ? {} : { keyData: new SecretValue(await readText(key, `client key ${key}`)) }),
  };
}

/**
 * Without a scheme: https if any TLS option is set, otherwise http, as client-go's
 * DefaultServerURL.
 */
function serverOf(text: string | undefined, secure: boolean): string | undefined {
  if (text === undefined) return undefined;
  const full = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `${secure ? 'https' : 'http'}://${text}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  if ((url?.protocol !== 'http:' && url?.protocol !== 'https:') || url.hostname === '')
    throw new UsageError(`--server: "${outsideText('url', text)}" is not the address of a server`);
  return full.replace(/\/+$/, '');
}

function timeoutMsFrom(text: string | undefined): number | undefined {
  const ms = parseSecondsOrDuration(nonEmptyText(text) ?? '0');
  if (ms === undefined || ms < 0)
    throw new UsageError(
      `--request-timeout must be whole seconds, or a duration such as 30s or 2m, not "${text ?? ''}"`,
    );
  return ms === 0 ? undefined : ms;
}

function nonEmptyText(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
