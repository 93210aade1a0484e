import { readFile, stat } from 'node:fs/promises';
import { messageOf, newAbortController, outsideText, SecretValue } from '#base';
import type { ClusterConnection } from '#model';
import type { CredentialDeps } from './credential-deps.ts';
import { askExecPlugin } from './exec-plugin.ts';
import type { IssuedCredential } from './exec-plugin.ts';
import { KubeCredentialError } from '../errors.ts';
import { SingleFlight } from '../single-flight.ts';

/**
 * One version of a credential. Each version is a new object, so that `refused` can compare the
 * rejected one with the current one by identity.
 */
export interface Credential {
  /** Value of the Authorization header. */
  readonly authorization?: SecretValue;
  readonly tls?: { readonly cert: SecretValue; readonly key: SecretValue };
}

/** A source of credentials. Safe for concurrent calls: one file read or plugin run serves all. */
export interface CredentialSource {
  current(signal: AbortSignal): Promise<Credential>;
  /**
   * Reports that the server rejected this credential. True if `current` may now return another one:
   * retry once.
   */
  refused(credential: Credential): boolean;
}

/**
 * Precedence as in client-go: exec plugin, token file, bearer token, user and password. A client
 * certificate is added to any of them.
 */
export function credentialSource(connection: ClusterConnection, deps: CredentialDeps): CredentialSource {
  const { exec, bearerTokenFile, bearerToken, username, password, certData, keyData } = connection.credentials;
  const tls = certData === undefined || keyData === undefined ? {} : { tls: { cert: certData, key: keyData } };
  if (exec !== undefined) return new ExecSource(deps, tls, (signal) => askExecPlugin(connection, exec, deps, signal));
  if (bearerTokenFile !== undefined && bearerTokenFile !== '') return new FileSource(deps, tls, bearerTokenFile);
  if (bearerToken !== undefined && bearerToken.reveal() !== '')
    return fixedSource({ ...tls, authorization: bearer(bearerToken.reveal()) });
  if (username !== undefined && username !== '') {
    const pair = Buffer.from(`${username}:${password?.reveal() ?? ''}`).toString('base64');
    return fixedSource({ ...tls, authorization: new SecretValue(`Basic ${pair}`) });
  }
  return fixedSource(tls);
}

function bearer(token: string): SecretValue {
  return new SecretValue(`Bearer ${token}`);
}

function fixedSource(credential: Credential): CredentialSource {
  return { current: () => Promise.resolve(credential), refused: () => false };
}

const statEveryMs = 1_000;
const readEveryMs = 60_000;

/**
 * A token file that is rotated externally. It is read again when it changes, once a minute, and
 * when the server rejects the token.
 */
class FileSource implements CredentialSource {
  readonly #deps: CredentialDeps;
  readonly #tls: Pick<Credential, 'tls'>;
  readonly #file: string;
  readonly #flight = new SingleFlight<Credential>();
  #current: Credential | undefined;
  #token = '';
  #mark = '';
  #statAt = 0;
  #readAt = 0;

  constructor(deps: CredentialDeps, tls: Pick<Credential, 'tls'>, file: string) {
    this.#deps = deps;
    this.#tls = tls;
    this.#file = file;
  }

  current(signal: AbortSignal): Promise<Credential> {
    const now = this.#deps.clock.monotonic();
    if (this.#current !== undefined && now - this.#statAt < statEveryMs) return Promise.resolve(this.#current);
    return this.#flight.run(signal, () => this.#check(now));
  }

  refused(credential: Credential): boolean {
    if (credential !== this.#current) return true;
    // Let the next `current` read the file. If the token is the same, the caller does not retry.
    this.#statAt = Number.NEGATIVE_INFINITY;
    this.#readAt = Number.NEGATIVE_INFINITY;
    return true;
  }

  async #check(now: number): Promise<Credential> {
    try {
      const info = await stat(this.#file);
      const mark = `${info.mtimeMs}/${info.size}/${info.ino}`;
      if (this.#current === undefined || mark !== this.#mark || now - this.#readAt >= readEveryMs) {
        const token = (await readFile(this.#file, 'utf8')).trim();
        if (token === '') throw new KubeCredentialError(`token file ${this.#file} is empty`);
        if (this.#current === undefined || token !== this.#token)
          this.#current = { ...this.#tls, authorization: bearer(token) };
        this.#token = token;
        this.#mark = mark;
        this.#readAt = now;
      }
    } catch (error) {
      if (this.#current === undefined)
        throw new KubeCredentialError(
          `token file ${this.#file} cannot be read: ${outsideText('system', messageOf(error))}`,
          error,
        );
      this.#deps.logger.warn('Token file cannot be read, using the last token', { file: this.#file, error });
    }
    this.#statAt = now;
    return this.#current;
  }
}

/**
 * A plugin that failed is not run again within this time, and rejected credentials are renewed at
 * most once in this time.
 */
const retryPauseMs = 10_000;
const expirySkewMs = 10_000;

interface CachedCredential {
  readonly credential: Credential;
  /** From then on a new one is fetched in the background, while this one stays in use. */
  readonly renewAtMs: number;
  readonly expiresAtMs: number;
}

/**
 * Credentials of a plugin. One run serves all concurrent callers. They are renewed at 80 % of their
 * lifetime, and when the server rejects them.
 */
class ExecSource implements CredentialSource {
  readonly #deps: CredentialDeps;
  readonly #tls: Pick<Credential, 'tls'>;
  readonly #ask: (signal: AbortSignal) => Promise<IssuedCredential>;
  readonly #flight = new SingleFlight<Credential>();
  #issued: CachedCredential | undefined;
  #refusedAt = Number.NEGATIVE_INFINITY;
  #failure: { readonly error: Error; readonly at: number } | undefined;

  constructor(
    deps: CredentialDeps,
    tls: Pick<Credential, 'tls'>,
    ask: (signal: AbortSignal) => Promise<IssuedCredential>,
  ) {
    this.#deps = deps;
    this.#tls = tls;
    this.#ask = ask;
  }

  current(signal: AbortSignal): Promise<Credential> {
    const now = this.#deps.clock.now();
    if (this.#issued === undefined || now >= this.#issued.expiresAtMs) return this.#renew(signal);
    if (now >= this.#issued.renewAtMs)
      void this.#renew(newAbortController().signal).catch((error: unknown) => {
        this.#deps.logger.warn('Credential plugin failed, using the last credential', { error });
      });
    return Promise.resolve(this.#issued.credential);
  }

  refused(credential: Credential): boolean {
    if (credential !== this.#issued?.credential) return true;
    // Do not run the plugin for every request if the server rejects all of its credentials.
    const now = this.#deps.clock.monotonic();
    if (now - this.#refusedAt < retryPauseMs) return false;
    this.#refusedAt = now;
    this.#issued = undefined;
    return true;
  }

  async #renew(signal: AbortSignal): Promise<Credential> {
    const failure = this.#failure;
    if (failure !== undefined && this.#deps.clock.monotonic() - failure.at < retryPauseMs) throw failure.error;
    return this.#flight.run(signal, async (shared) => {
      try {
        const credential = this.#keep(await this.#ask(shared));
        this.#failure = undefined;
        return credential;
      } catch (error) {
        if (!shared.aborted) this.#failure = { error: error as Error, at: this.#deps.clock.monotonic() };
        throw error;
      }
    });
  }

  #keep(given: IssuedCredential): Credential {
    const now = this.#deps.clock.now();
    const { token, certData, keyData } = given;
    const expiresAtMs = (given.expiresAtMs ?? Number.POSITIVE_INFINITY) - expirySkewMs;
    const credential: Credential = {
      ...(certData === undefined || keyData === undefined ? this.#tls : { tls: { cert: certData, key: keyData } }),
      ...(token === undefined ? {} : { authorization: bearer(token.reveal()) }),
    };
    this.#issued = { credential, expiresAtMs, renewAtMs: now + 0.8 * (expiresAtMs - now) };
    return credential;
  }
}
