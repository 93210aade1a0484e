import { outsideText, parseSecondsOrDuration, Secret, UsageError } from '#base';
import type { ClusterConnection, ClusterCredentials, Impersonation } from '#model';
import { readText } from './read-text.ts';

/** What kubectl's flags say about a connection, each as it was written; absent or empty: nothing. */
export interface ConnectionOverrides {
  /** Name of a cluster of the kubeconfig, in place of the context's. */
  readonly cluster?: string;
  /** Name of a user of the kubeconfig, in place of the context's. */
  readonly user?: string;
  readonly server?: string;
  readonly certificateAuthority?: string;
  readonly insecureSkipTlsVerify?: boolean;
  readonly tlsServerName?: string;
  readonly proxyUrl?: string;
  readonly token?: Secret;
  readonly username?: string;
  readonly password?: Secret;
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  readonly as?: string;
  readonly asGroups?: readonly string[];
  readonly asUid?: string;
  /** Whole seconds, or a Go duration; 0: none. */
  readonly requestTimeout?: string;
}

/**
 * Lays the overrides over a connection as client-go's clientcmd does (DirectClientConfig: getCluster, getAuthInfo, ConfirmUsable): a server
 * takes the TLS server name of the configuration with it; a CA and "insecure" replace each other; a token and a user name exclude each other.
 *
 * Differences: a token or user name given here also replaces a token file of the configuration (there the file goes on winning); they
 * are sent over plain HTTP too.
 *
 * @throws UsageError in one line: what contradicts what, which file cannot be read.
 */
export async function overridden(
  connection: ClusterConnection,
  overrides: ConnectionOverrides,
): Promise<ClusterConnection> {
  const credentials = await credentialsWith(connection.credentials, overrides);
  const trust = await trustWith(connection, overrides);
  const { tlsServerName, proxyUrl, impersonate, requestTimeoutMs } = connection;
  const secure = trust.insecure || trust.caData !== undefined || credentials.certData !== undefined;
  const server = serverOf(said(overrides.server), secure) ?? connection.server;
  const name = said(overrides.tlsServerName) ?? (said(overrides.server) === undefined ? tlsServerName : undefined);
  const proxy = said(overrides.proxyUrl) ?? proxyUrl;
  const acting = actingWith(impersonate, overrides);
  const timeoutMs = timeoutOf(overrides.requestTimeout) ?? requestTimeoutMs;
  return {
    ...trust,
    server,
    credentials,
    ...(name === undefined ? {} : { tlsServerName: name }),
    ...(proxy === undefined ? {} : { proxyUrl: proxy }),
    ...(acting === undefined ? {} : { impersonate: acting }),
    ...(timeoutMs === undefined ? {} : { requestTimeoutMs: timeoutMs }),
  };
}

/** @throws UsageError for a group, UID or extra without a user, and for what no header can hold. */
export function checkedImpersonation(acting: Impersonation): Impersonation | undefined {
  const { user, uid = '', groups, extra } = acting;
  const also = uid !== '' || groups.length > 0 || Object.keys(extra).length > 0;
  if (user === '' && also)
    throw new UsageError('a user must be named to act as (--as) beside its groups, UID or extra fields');
  // A line break would begin a header of its own.
  const texts = [user, uid, ...groups, ...Object.values(extra).flat()];
  if (texts.some((text) => /[^\t\x20-\x7e\u0080-\u00ff]/u.test(text)))
    throw new UsageError('the user to act as, its groups and UID must be made of characters that a header can hold');
  return user === '' ? undefined : acting;
}

function actingWith(acting: Impersonation | undefined, overrides: ConnectionOverrides): Impersonation | undefined {
  const uid = said(overrides.asUid) ?? acting?.uid;
  const groups = overrides.asGroups ?? [];
  return checkedImpersonation({
    user: said(overrides.as) ?? acting?.user ?? '',
    groups: groups.length > 0 ? groups : (acting?.groups ?? []),
    extra: acting?.extra ?? {},
    ...(uid === undefined ? {} : { uid }),
  });
}

type Trust = Pick<ClusterConnection, 'insecure' | 'caData'>;

async function trustWith(connection: ClusterConnection, overrides: ConnectionOverrides): Promise<Trust> {
  const file = said(overrides.certificateAuthority);
  const insecure = overrides.insecureSkipTlsVerify === true;
  if (file !== undefined && insecure)
    throw new UsageError('--certificate-authority and --insecure-skip-tls-verify exclude each other');
  if (file !== undefined) return { insecure, caData: await readText(file, `certificate authority ${file}`) };
  if (insecure) return { insecure };
  const { caData } = connection;
  return { insecure: connection.insecure, ...(caData === undefined ? {} : { caData }) };
}

async function credentialsWith(
  credentials: ClusterCredentials,
  overrides: ConnectionOverrides,
): Promise<ClusterCredentials> {
  const token = overrides.token?.reveal() === '' ? undefined : overrides.token;
  const username = said(overrides.username);
  const password = overrides.password?.reveal() === '' ? undefined : overrides.password;
  const given = { ...credentials };
  // What is said here is shown in place of what a plugin or a file would give.
  if (token !== undefined || username !== undefined || password !== undefined) {
    delete given.exec;
    delete given.bearerTokenFile;
  }
  const files = await certificateOf(overrides);
  const result: ClusterCredentials = {
    ...given,
    ...files,
    ...(token === undefined ? {} : { bearerToken: new Secret(token.reveal().trim()) }),
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
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
  const [cert, key] = [said(overrides.clientCertificate), said(overrides.clientKey)];
  return {
    ...(cert === undefined ? {} : { certData: new Secret(await readText(cert, `client certificate ${cert}`)) }),
    ...(key === undefined ? {} : { keyData: new Secret(await readText(key, `client key ${key}`)) }),
  };
}

/** Without a scheme: https where anything of TLS is configured, else http, as client-go's DefaultServerURL. */
function serverOf(text: string | undefined, secure: boolean): string | undefined {
  if (text === undefined) return undefined;
  const full = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `${secure ? 'https' : 'http'}://${text}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  if ((url?.protocol !== 'http:' && url?.protocol !== 'https:') || url.hostname === '')
    throw new UsageError(`--server: "${outsideText('url', text)}" is not the address of a server`);
  return full.replace(/\/+$/, '');
}

function timeoutOf(text: string | undefined): number | undefined {
  const ms = parseSecondsOrDuration(said(text) ?? '0');
  if (ms === undefined || ms < 0)
    throw new UsageError(
      `--request-timeout must be whole seconds, or a duration such as 30s or 2m, not "${text ?? ''}"`,
    );
  return ms === 0 ? undefined : ms;
}

function said(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
