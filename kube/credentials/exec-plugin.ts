import { basename } from 'node:path';
import { valueAt, DeadlineExceeded, isObject, outsideText, parseJson, SecretValue, withDeadline } from '#base';
import type { Json, JsonObject } from '#base';
import type { ClusterConnection, ClusterCredentials } from '#model';
import type { CommandRequest, CommandResult } from './command-types.ts';
import type { CredentialDeps } from './credential-deps.ts';
import { KubeCredentialError } from '../errors.ts';

/** A credential issued by a plugin. */
export interface IssuedCredential {
  readonly token?: SecretValue;
  readonly certData?: SecretValue;
  readonly keyData?: SecretValue;
  /** Wall time; if missing, valid until the server rejects it. */
  readonly expiresAtMs?: number;
}

type ExecConfig = NonNullable<ClusterCredentials['exec']>;

type PluginDeps = Pick<CredentialDeps, 'clock' | 'runCommand' | 'credentialPlugins' | 'instruments'>;

const pluginTimeoutMs = 10_000;

/**
 * Runs an exec plugin like client-go's plugin/pkg/client/auth/exec, but never interactively, and
 * with a deadline of ten seconds.
 * @throws KubeCredentialError that names the plugin without its folder. Its output is not shown,
 * except for well-known error names, since it may contain credentials (client-go forwards it to
 * stderr).
 */
export async function askExecPlugin(
  connection: ClusterConnection,
  exec: ExecConfig,
  deps: PluginDeps,
  signal: AbortSignal,
): Promise<IssuedCredential> {
  const what = `credential plugin "${outsideText('system', basename(exec.command))}"`;
  if (deps.credentialPlugins?.includes(exec.command) === false)
    throw new KubeCredentialError(`${what} is not among the programs that --credential-plugins permits`);
  const env = { ...exec.env, KUBERNETES_EXEC_INFO: JSON.stringify(execInfo(connection, exec)) };
  const result = await runPlugin({ what, command: exec.command, args: exec.args, env }, deps, signal);
  if (result.code !== 0) {
    const said = outsideText('credential plugin', result.stderr);
    const how = result.code === null ? 'was killed' : `failed with exit code ${result.code}`;
    const why = said === '' ? '' : `: ${said}`;
    const rest =
      result.stderr.trim() === ''
        ? ''
        : ' (its output is not shown because it may contain credentials: run it by hand to read it)';
    throw new KubeCredentialError(`${what} ${how}${why}${rest}`);
  }
  return parseCredential(result.stdout, exec, what);
}

/** Runs the plugin and counts it. The result may be a failure of the plugin. */
async function runPlugin(
  { what, ...request }: CommandRequest & { readonly what: string },
  { clock, runCommand, instruments }: PluginDeps,
  signal: AbortSignal,
): Promise<CommandResult> {
  try {
    const result = await withDeadline(signal, { clock, limitMs: pluginTimeoutMs, what }, (limited) =>
      runCommand(request, limited),
    );
    instruments?.pluginCalled(result.code ?? -1, result.code === 0 ? 'no_error' : 'plugin_execution_error');
    return result;
  } catch (error) {
    if (signal.aborted) throw signal.reason as Error;
    // Node's error contains the arguments and the path.
    const { code } = error as { readonly code?: unknown };
    instruments?.pluginCalled(1, code === 'ENOENT' ? 'plugin_not_found_error' : 'client_internal_error');
    if (error instanceof DeadlineExceeded) throw new KubeCredentialError(error.message);
    throw new KubeCredentialError(
      code === 'ENOENT'
        ? `${what} is not installed: it is not found on PATH`
        : `${what} could not be run${typeof code === 'string' ? ` (${code})` : ''}`,
    );
  }
}

function execInfo(connection: ClusterConnection, exec: ExecConfig): JsonObject {
  const cluster: JsonObject = {
    server: connection.server,
    ...(connection.insecure ? { 'insecure-skip-tls-verify': true } : {}),
    ...(connection.tlsServerName === undefined ? {} : { 'tls-server-name': connection.tlsServerName }),
    ...(connection.proxyUrl === undefined ? {} : { 'proxy-url': connection.proxyUrl }),
    ...(connection.caData === undefined
      ? {}
      : { 'certificate-authority-data': Buffer.from(connection.caData).toString('base64') }),
  };
  const spec: JsonObject = { interactive: false, ...(exec.provideClusterInfo ? { cluster } : {}) };
  return { apiVersion: exec.apiVersion, kind: 'ExecCredential', spec };
}

/** The output contains the credential: no part of it may appear in a message. */
function parseCredential(stdout: string, exec: ExecConfig, what: string): IssuedCredential {
  let answer: Json;
  try {
    answer = parseJson(stdout);
  } catch {
    throw new KubeCredentialError(`${what} did not print JSON`);
  }
  if (!isObject(answer) || answer['kind'] !== 'ExecCredential')
    throw new KubeCredentialError(`${what} did not print an ExecCredential`);
  if (answer['apiVersion'] !== exec.apiVersion)
    throw new KubeCredentialError(`${what} did not print apiVersion ${exec.apiVersion}, as its configuration says`);
  const token = statusField(answer, 'token');
  const cert = statusField(answer, 'clientCertificateData');
  const key = statusField(answer, 'clientKeyData');
  if (token === undefined && (cert === undefined || key === undefined))
    throw new KubeCredentialError(`${what} printed neither a token nor a certificate with its key`);
  const expiry = Date.parse(statusField(answer, 'expirationTimestamp') ?? '');
  return {
    ...(token === undefined ? {} : { token: new SecretValue(token) }),
    ...(cert === undefined || key === undefined
      ? {}
      : { certData: new SecretValue(cert), keyData: new SecretValue(key) }),
    ...(Number.isNaN(expiry) ? {} : { expiresAtMs: expiry }),
  };
}

function statusField(answer: JsonObject, name: string): string | undefined {
  const value = valueAt(answer, 'status', name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}
