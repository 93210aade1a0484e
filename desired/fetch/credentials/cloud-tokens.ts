import { createPrivateKey, createSign } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hashText, isObject, messageOf, omit, ownMember, parseJson, SecretValue, tenantOf } from '#base';
import type { Clock, JsonObject } from '#base';
import type { AzurePrincipal, Repository } from '#model';
import { RepositoryError } from '../../errors.ts';
import { SharedJobs } from '../shared/shared-jobs.ts';
import { checkWebUrl } from '../shared/input-checks.ts';
import { Lru } from '../shared/lru.ts';
import type { WebClient, WebRequest, WebResponse } from '../network/web-client.ts';

/** The Azure workload identity of this pod, as Azure's webhook sets it in the environment. */
export interface AzureWorkload {
  readonly tenantId: string;
  readonly clientId: string;
  /** File with the ServiceAccount token. */
  readonly tokenFile: string;
  readonly authority: string;
  /** The scope of tokens that registries exchange. */
  readonly registryScope: string;
}

const armResource = 'https://management.core.windows.net';

/** Reads AZURE_TENANT_ID and so on; undefined if one is missing. */
export function azureWorkloadOf(env: Readonly<Record<string, string | undefined>>): AzureWorkload | undefined {
  const {
    AZURE_TENANT_ID: tenantId = '',
    AZURE_CLIENT_ID: clientId = '',
    AZURE_FEDERATED_TOKEN_FILE: tokenFile = '',
    AZURE_AUTHORITY_HOST: authority = 'https://login.microsoftonline.com',
    AZURE_ARM_TOKEN_RESOURCE: resource = armResource,
  } = env;
  return tenantId === '' || clientId === '' || tokenFile === ''
    ? undefined
    : { tenantId, clientId, tokenFile, authority, registryScope: `${resource}/.default` };
}

export interface CloudTokensDeps {
  readonly clock: Clock;
  readonly web: WebClient;
  readonly deadlineMs: number;
  /** Upper bound on the use of a token of an Azure service principal. */
  readonly maxPrincipalTokenMs?: number;
  readonly azureWorkload?: AzureWorkload | undefined;
}

type TokenCredentials = Pick<Repository, 'username' | 'password'> | Pick<Repository, 'bearerToken'>;

interface CloudToken {
  readonly value: string;
  readonly until: number;
}

/** The user name that goes with a token of Azure's registries. */
const registryUser = '00000000-0000-0000-0000-000000000000';
/** Scope of Azure DevOps. */
const azureDevOps = '499b84ac-1321-427f-aa17-267ca6975798/.default';
const googleScope = 'https://www.googleapis.com/auth/cloud-platform';
const maxResponseBytes = 1024 * 1024;
/** Renew early: a token must outlast the operation that starts with it. */
const expiryMarginMs = 300_000;

/**
 * Access tokens for Git repositories of Google (service account key), and for Git repositories and
 * registries of Azure (workload identity, service principal), cached until they expire (Argo CD:
 * util/git/creds.go, util/helm/creds.go).
 */
export class CloudTokens {
  readonly #deps: CloudTokensDeps;
  readonly #tokens = new Lru<CloudToken>(1024);
  readonly #asking: SharedJobs<string>;

  constructor(deps: CloudTokensDeps) {
    this.#deps = deps;
    this.#asking = new SharedJobs({ clock: deps.clock, limitMs: deps.deadlineMs });
  }

  /** @throws RepositoryError that names what is missing, without key or token */
  async credentials(repository: Repository, signal: AbortSignal): Promise<TokenCredentials> {
    const { googleKey } = repository;
    if (googleKey !== undefined) {
      const key = googleKeyOf(googleKey);
      const password = await this.#token('google', googleKey.reveal(), signal, (work) =>
        this.#google(repository, key, work),
      );
      return { username: key.email, password: new SecretValue(password) };
    }
    const bearer = await this.#azureToken(repository, azureDevOps, signal);
    return { bearerToken: new SecretValue(bearer) };
  }

  /**
   * The login of an Azure registry: the registry itself exchanges a token of Azure for one of its
   * own. Only its own origin gets the token of Azure, only over https, and never after a redirect.
   * @throws RepositoryError, without a token
   */
  async registryLogin(
    repository: Repository,
    { origin, host, service }: AzureRegistry,
    signal: AbortSignal,
  ): Promise<RegistryLogin> {
    const failed = (why: string): RepositoryError =>
      new RepositoryError(`failed to authenticate to the Azure registry ${host}: ${why}`);
    if (!origin.startsWith('https:')) throw failed('a token of Azure is sent only over https');
    const scope = this.#deps.azureWorkload?.registryScope ?? `${armResource}/.default`;
    const key = `${azureIdOf(repository)} ${origin} ${service}`;
    const password = await this.#token('azure registry', key, signal, async (work) => {
      const began = this.#deps.clock.monotonic();
      const token = await this.#azureToken(repository, scope, work);
      const form = { grant_type: 'access_token', service, access_token: token };
      const answer = await this.#deps.web.get(formRequest(`${origin}/oauth2/exchange`, form, work), {
        repository: omit(repository, 'username', 'password', 'bearerToken'),
        at: checkWebUrl(origin),
      });
      const value = answer.status === 200 ? textOf(jsonOf(answer), 'refresh_token') : '';
      if (value === '') throw failed(`it exchanges no token (status ${answer.status})`);
      const lastsMs = (expiryOf(value) ?? 0) * 1000 - this.#deps.clock.now() - expiryMarginMs;
      return { value, until: began + Math.max(0, lastsMs) };
    });
    return { username: registryUser, password: new SecretValue(password) };
  }

  #azureToken(repository: Repository, scope: string, signal: AbortSignal): Promise<string> {
    return this.#token('azure', `${azureIdOf(repository)} ${scope}`, signal, (work) =>
      this.#azure(repository, scope, work),
    );
  }

  async #token(
    kind: string,
    secret: string,
    signal: AbortSignal,
    ask: (signal: AbortSignal) => Promise<CloudToken>,
  ): Promise<string> {
    const key = `${kind} ${hashText(secret)}`;
    const known = this.#tokens.get(key);
    if (known !== undefined && this.#deps.clock.monotonic() < known.until) return known.value;
    return this.#asking.run(key, `getting a token of ${kind}`, signal, async (work) => {
      const token = await ask(work);
      this.#tokens.set(key, token, 1, tenantOf(work).project);
      return token.value;
    });
  }

  #google(repository: Repository, key: GoogleKey, signal: AbortSignal): Promise<CloudToken> {
    const assertion = key.signed(this.#deps.clock.now());
    const form = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion };
    return this.#ask(repository, { who: `the Google service account ${key.email}`, url: key.tokenUri, form }, signal);
  }

  async #azure(repository: Repository, scope: string, signal: AbortSignal): Promise<CloudToken> {
    const common = { grant_type: 'client_credentials', scope };
    const from: 'workload' | AzurePrincipal = repository.azure ?? 'workload';
    if (from !== 'workload') {
      const { authority, tenantId, clientId, secret } = from;
      const form = { ...common, client_id: clientId, client_secret: secret.reveal() };
      const who = `the Azure service principal ${clientId}`;
      const asked = { who, url: tokenUrl(authority, tenantId), form, maxMs: this.#deps.maxPrincipalTokenMs };
      return this.#ask(repository, asked, signal);
    }
    const workload = this.#deps.azureWorkload;
    if (workload === undefined)
      throw new RepositoryError(
        'failed to authenticate by Azure workload identity: this pod has none (AZURE_CLIENT_ID, AZURE_TENANT_ID and AZURE_FEDERATED_TOKEN_FILE are not set): label the pod and annotate its ServiceAccount for it',
      );
    const { authority, tenantId, clientId, tokenFile } = workload;
    const assertion = await readFile(tokenFile, 'utf8').catch((error: unknown) => {
      throw new RepositoryError(`failed to authenticate by Azure workload identity: ${messageOf(error)}`);
    });
    const form = {
      ...common,
      client_id: clientId,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion.trim(),
    };
    return this.#ask(
      repository,
      { who: `the Azure workload identity ${clientId}`, url: tokenUrl(authority, tenantId), form },
      signal,
    );
  }

  /** Uses the repository's proxy, but none of its credentials. */
  async #ask(repository: Repository, asked: TokenRequest, signal: AbortSignal): Promise<CloudToken> {
    const { who, url, form, maxMs = Infinity } = asked;
    const began = this.#deps.clock.monotonic();
    const { proxy, noProxy } = repository;
    const answer = await this.#deps.web.get(formRequest(url, form, signal), {
      repository: {
        url,
        type: 'git',
        insecure: false,
        inheritedCreds: false,
        ...(proxy === undefined ? {} : { proxy }),
        ...(noProxy === undefined ? {} : { noProxy }),
      },
      at: checkWebUrl(url),
    });
    const token = answer.status === 200 ? textOf(jsonOf(answer), 'access_token') : '';
    if (token === '')
      throw new RepositoryError(
        `failed to authenticate as ${who}: ${new URL(url).origin} answers with status ${answer.status}`,
      );
    const seconds = Number(ownMember(jsonOf(answer), 'expires_in') ?? 0);
    return {
      value: token,
      until: began + Math.min(maxMs, Math.max(0, (Number.isFinite(seconds) ? seconds : 0) * 1000 - expiryMarginMs)),
    };
  }
}

/** An Azure registry that asks for a token. */
export interface AzureRegistry {
  readonly origin: string;
  readonly host: string;
  /** The service that its challenge names. */
  readonly service: string;
}

export type RegistryLogin = Required<Pick<Repository, 'username' | 'password'>>;

/** Identifies the Azure credentials of a repository; contains the secret. */
function azureIdOf({ azure }: Repository): string {
  if (azure === undefined || azure === 'workload') return 'workload';
  return [azure.authority, azure.tenantId, azure.clientId, azure.secret.reveal()].join(' ');
}

function formRequest(url: string, form: Readonly<Record<string, string>>, signal: AbortSignal): WebRequest {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
  const body = new URLSearchParams(form).toString();
  return { url: checkWebUrl(url), method: 'POST', body, headers, maxBytes: maxResponseBytes, signal };
}

/** Seconds since 1970 at which a JSON web token expires; its signature is not checked. */
function expiryOf(token: string): number | undefined {
  try {
    const claims = parseJson(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    const expiry = isObject(claims) ? ownMember(claims, 'exp') : undefined;
    return typeof expiry === 'number' ? expiry : undefined;
  } catch {
    return undefined;
  }
}

interface TokenRequest {
  readonly who: string;
  /** Upper bound on the use of the token. */
  readonly maxMs?: number | undefined;
  readonly url: string;
  readonly form: Readonly<Record<string, string>>;
}

interface GoogleKey {
  readonly email: string;
  readonly tokenUri: string;
  /** Returns the signed assertion of the account for a time. */
  signed(now: number): string;
}

/** @throws RepositoryError */
function googleKeyOf(secret: SecretValue): GoogleKey {
  const bad = (why: string): RepositoryError =>
    new RepositoryError(`failed to authenticate as a Google service account: gcpServiceAccountKey ${why}`);
  let json: JsonObject = {};
  try {
    const value = parseJson(secret.reveal());
    if (isObject(value)) json = value;
  } catch {
    throw bad('is no JSON');
  }
  const [email, tokenUri] = [
    textOf(json, 'client_email'),
    textOf(json, 'token_uri') || 'https://oauth2.googleapis.com/token',
  ];
  if (email === '' || !/^https?:\/\//i.test(tokenUri) || !URL.canParse(tokenUri))
    throw bad('is not the key of a service account: it needs client_email, private_key and token_uri');
  return {
    email,
    tokenUri,
    signed: (now) => {
      const seconds = Math.floor(now / 1000);
      const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
      const claims = { iss: email, scope: googleScope, aud: tokenUri, iat: seconds, exp: seconds + 3600 };
      const text = `${part({ alg: 'RS256', typ: 'JWT', kid: textOf(json, 'private_key_id') })}.${part(claims)}`;
      try {
        const key = createPrivateKey(textOf(json, 'private_key'));
        return `${text}.${createSign('RSA-SHA256').update(text).sign(key, 'base64url')}`;
      } catch {
        throw bad('has a private_key that cannot be read');
      }
    },
  };
}

function tokenUrl(authority: string, tenantId: string): string {
  return `${authority.replace(/\/+$/, '')}/${encodeURIComponent(tenantId)}/oauth2/v2.0/token`;
}

function jsonOf(answer: WebResponse): JsonObject {
  try {
    const value = parseJson(answer.body.toString('utf8'));
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function textOf(object: JsonObject, name: string): string {
  const value = ownMember(object, name);
  return typeof value === 'string' ? value : '';
}
