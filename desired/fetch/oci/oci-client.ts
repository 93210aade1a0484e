import { defined, isObject, omit, ownMember, parseJson, tenantOf } from '#base';
import type { Clock, Json, JsonObject } from '#base';
import { isRefused, readAddress } from '#model';
import type { Repository, SourceAddress } from '#model';
import { DesiredError, RepositoryError, UnsafeInput, UnsupportedSource } from '../../errors.ts';
import type { DesiredLimits } from '../../limits.ts';
import type { CloudTokens, RegistryLogin } from '../credentials/cloud-tokens.ts';
import { digestOf } from '../files/archive-cache.ts';
import { repositoryKey } from '../shared/repository-key.ts';
import { answerUrl, checkWebUrl } from '../shared/input-checks.ts';
import { Lru } from '../shared/lru.ts';
import { expectOk } from '../network/web-client.ts';
import type { RepositoryAccess, WebClient, WebResponse } from '../network/web-client.ts';

/** A repository in a registry. */
export interface OciRepository {
  readonly origin: string;
  readonly host: string;
  readonly name: string;
  readonly address: SourceAddress;
}

export interface OciLayer {
  readonly mediaType: string;
  readonly digest: string;
}

export interface OciManifest {
  readonly digest: string;
  readonly configType: string;
  readonly layers: readonly OciLayer[];
}

export interface OciClientDeps {
  readonly clock: Clock;
  readonly web: WebClient;
  readonly limits: DesiredLimits;
  /** Gets the login of a registry from Azure. */
  readonly azure: Pick<CloudTokens, 'registryLogin'>;
  /** User-Agent of requests for tags. */
  readonly userAgent?: string | undefined;
}

const manifestTypes =
  'application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json';
const maxManifestBytes = 4 * 1024 * 1024;
const maxPages = 200;

/**
 * Reads tags, manifests and blobs from a registry (distribution API, version 2), with tokens from
 * the token service that the registry names. All content is verified against its digest. User and
 * password go only to the registry and to its token service, which must use https if the registry
 * does.
 */
export class OciClient {
  readonly #deps: OciClientDeps;
  /** Keyed by credentials, registry and repository. */
  readonly #tokens = new Lru<{ readonly token: string; readonly until: number }>(1024);

  constructor(deps: OciClientDeps) {
    this.#deps = deps;
  }

  /** Returns all tags as the registry spells them. @throws RepositoryError */
  async tags(repository: Repository, at: OciRepository, signal: AbortSignal): Promise<readonly string[]> {
    const tags: string[] = [];
    let path: string | undefined = `/v2/${at.name}/tags/list?n=1000`;
    for (let page = 0; path !== undefined; page += 1) {
      if (page === maxPages) throw new RepositoryError(`${at.host}/${at.name} has too many tags`);
      const answer: WebResponse = await this.#get(repository, at, {
        path,
        maxBytes: maxManifestBytes,
        signal,
        userAgent: this.#deps.userAgent,
      });
      const listed = ownMember(
        jsonOf(expectOk(answer, `failed to list the tags of ${at.host}/${at.name}`), at),
        'tags',
      );
      if (Array.isArray(listed)) tags.push(...(listed as readonly Json[]).filter((tag) => typeof tag === 'string'));
      path = nextPage(answer.headers['link'], at);
    }
    return tags;
  }

  /**
   * Returns the manifest of a tag or digest; undefined if it does not exist.
   * @throws RepositoryError
   */
  async manifest(
    repository: Repository,
    at: OciRepository,
    reference: string,
    signal: AbortSignal,
  ): Promise<OciManifest | undefined> {
    const path = `/v2/${at.name}/manifests/${reference}`;
    const answer = await this.#get(repository, at, { path, maxBytes: maxManifestBytes, accept: manifestTypes, signal });
    if (answer.status === 404) return undefined;
    const body = expectOk(answer, `failed to read ${reference} of ${at.host}/${at.name}`);
    const digest = `sha256:${digestOf(body)}`;
    if (reference.startsWith('sha256:') && reference !== digest) throw digestMismatch(at, reference);
    const manifest = jsonOf(body, at);
    const layers = ownMember(manifest, 'layers');
    if (!Array.isArray(layers))
      throw new RepositoryError(`${reference} of ${at.host}/${at.name} is no image manifest: it has no layers`);
    const config = ownMember(manifest, 'config');
    return {
      digest,
      configType: config !== undefined && isObject(config) ? textOf(config, 'mediaType') : '',
      layers: (layers as readonly Json[])
        .filter(isObject)
        .map((layer) => ({ mediaType: textOf(layer, 'mediaType'), digest: textOf(layer, 'digest') })),
    };
  }

  /** @throws RepositoryError, DesiredError if the content does not have the requested digest */
  async blob(repository: Repository, at: OciRepository, digest: string, signal: AbortSignal): Promise<Buffer> {
    if (!isDigest(digest)) throw new RepositoryError(`a layer of ${at.host}/${at.name} has no SHA-256 digest`);
    const path = `/v2/${at.name}/blobs/${digest}`;
    const answer = await this.#get(repository, at, { path, maxBytes: this.#deps.limits.maxArchiveBytes, signal });
    const body = expectOk(answer, `failed to download ${digest} of ${at.host}/${at.name}`);
    if (`sha256:${digestOf(body)}` !== digest) throw digestMismatch(at, digest);
    return body;
  }

  async #get(repository: Repository, at: OciRepository, wanted: RegistryRequest): Promise<WebResponse> {
    const { path, accept = 'application/json', maxBytes, signal, userAgent } = wanted;
    if (repository.googleKey !== undefined && repository.password === undefined)
      throw new UnsupportedSource('gcpServiceAccountKey for a registry (a token of the registry as password works)');
    const request = {
      url: answerUrl(path, at.origin),
      headers: { accept, ...defined({ 'user-agent': userAgent }) },
      maxBytes,
      signal,
    };
    const key = `${repositoryKey(repository)} ${at.origin} ${at.name}`;
    const known = this.#tokens.get(key);
    const token = known !== undefined && this.#deps.clock.monotonic() < known.until ? known.token : undefined;
    const first = await this.#deps.web.get(request, anonymousAccess(repository, at, token));
    // If a redirect target sends a challenge, it must not get the password for the registry.
    if (first.status !== 401 || first.hasLeftOrigin) return first;
    const challenge = first.headers['www-authenticate'] ?? '';
    if (needsAzure(repository) && !/^bearer\b/i.test(challenge))
      throw new RepositoryError(`${at.host} does not allow tokens, which an identity in Azure needs`);
    if (/^basic\b/i.test(challenge)) return this.#deps.web.get(request, { repository, at: at.address });
    if (!/^bearer\b/i.test(challenge)) return first;
    const fresh = await this.#token(repository, at, challenge, signal);
    this.#tokens.set(key, fresh, 1, tenantOf(signal).project);
    return this.#deps.web.get(request, anonymousAccess(repository, at, fresh.token));
  }

  /** Gets a token from the service that the registry names in its challenge. */
  async #token(
    repository: Repository,
    at: OciRepository,
    challenge: string,
    signal: AbortSignal,
  ): Promise<{ readonly token: string; readonly until: number }> {
    const part = (name: string): string => new RegExp(`\\b${name}="([^"]*)"`, 'i').exec(challenge)?.[1] ?? '';
    if (!URL.canParse(part('realm'), at.origin))
      throw new RepositoryError(`${at.host} names a token service whose address cannot be parsed`);
    const realm = new URL(part('realm'), at.origin);
    if (realm.protocol !== 'https:' && at.origin.startsWith('https:'))
      throw new RepositoryError(`${at.host} names a token service without https`);
    if (part('service') !== '') realm.searchParams.set('service', part('service'));
    realm.searchParams.set('scope', `repository:${at.name}:pull`);
    const isElsewhere = realm.origin !== at.origin;
    const login = needsAzure(repository)
      ? await this.#azureLogin({ repository, at, realm }, part('service'), signal)
      : {};
    const asked = await this.#deps.web.get(
      { url: answerUrl(realm.href, at.origin), maxBytes: maxManifestBytes, signal },
      {
        repository: isElsewhere
          ? { ...omit(repository, 'bearerToken', 'tlsClientCertData', 'tlsClientCertKey'), insecure: false }
          : { ...repository, ...login },
        at: answerUrl('/', realm.origin),
      },
    );
    const answer = jsonOf(expectOk(asked, `${at.host}: the token service refuses`), at);
    const token = textOf(answer, 'token') || textOf(answer, 'access_token');
    const seconds = Number(ownMember(answer, 'expires_in') ?? 60);
    const lastsMs = (Number.isFinite(seconds) ? seconds : 60) * 1000;
    return { token, until: this.#deps.clock.monotonic() + Math.max(0, lastsMs - 10_000) };
  }

  /** @throws RepositoryError */
  async #azureLogin(
    { repository, at, realm }: { readonly repository: Repository; readonly at: OciRepository; readonly realm: URL },
    service: string,
    signal: AbortSignal,
  ): Promise<RegistryLogin> {
    if (realm.origin !== at.origin)
      throw new RepositoryError(
        `failed to authenticate to the Azure registry ${at.host}: it names the token service of another host, ${realm.host}, which gets no token of Azure`,
      );
    return this.#deps.azure.registryLogin(repository, { origin: at.origin, host: at.host, service }, signal);
  }
}

/** A password of its own goes before the identity in Azure. */
function needsAzure({ azure, password }: Repository): boolean {
  return azure !== undefined && password === undefined;
}

interface RegistryRequest {
  readonly path: string;
  readonly accept?: string;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  readonly userAgent?: string | undefined;
}

/**
 * Withholds user and password until the registry asks for them: it may want a token of its token
 * service instead.
 */
function anonymousAccess(repository: Repository, at: OciRepository, token: string | undefined): RepositoryAccess {
  const bearer = token ?? repository.bearerToken?.reveal();
  return {
    repository: omit(repository, 'username', 'password', 'bearerToken'),
    at: at.address,
    ...(bearer === undefined ? {} : { bearer }),
  };
}

/** Parses the URL of a repository, with or without oci://. @throws UnsafeInput */
export function ociRepositoryOf(repository: Repository, chart = ''): OciRepository {
  const found = readAddress(repository.url, 'chart');
  if (isRefused(found)) throw new UnsafeInput(`the address of the registry is refused: ${found.refused}`);
  const path = [...found.segments, ...(chart === '' ? [] : chart.split('/'))];
  const isName = path.length > 0 && path.every((part) => /^[A-Za-z0-9][\w.-]*$/.test(part) && !part.includes('..'));
  if (!isName || !['oci', 'https'].includes(found.scheme) || found.hasLogin || found.query !== '')
    throw new UnsafeInput('the address of the registry is refused: it must be a host and the name of a repository');
  const host = found.authority;
  const reached = host === 'docker.io' ? 'registry-1.docker.io' : host;
  const address = checkWebUrl(`${repository.ociForceHttp === true ? 'http' : 'https'}://${reached}`);
  return { origin: address.url, host, name: path.join('/'), address };
}

export function isDigest(text: string): boolean {
  return /^sha256:[0-9a-f]{64}$/.test(text);
}

export function isTag(text: string): boolean {
  return /^\w[\w.-]{0,127}$/.test(text);
}

function digestMismatch(at: OciRepository, digest: string): DesiredError {
  return new DesiredError(
    'DESIRED_DIGEST',
    `${at.host}/${at.name} returned content that does not have the digest ${digest}`,
  );
}

function jsonOf(body: Buffer, at: OciRepository): JsonObject {
  try {
    const value = parseJson(body.toString('utf8'));
    if (isObject(value)) return value;
  } catch {
    // Reported below.
  }
  throw new RepositoryError(`${at.host} returned no JSON object: is it a registry?`);
}

function textOf(object: JsonObject, key: string): string {
  const value = ownMember(object, key);
  return typeof value === 'string' ? value : '';
}

/** Returns the next page if it is on the registry itself. */
function nextPage(link: string | undefined, at: OciRepository): string | undefined {
  const target = /<([^>]+)>\s*;\s*rel="?next"?/i.exec(link ?? '')?.[1];
  if (target === undefined || !URL.canParse(target, at.origin)) return undefined;
  const url = new URL(target, at.origin);
  return url.origin === at.origin ? `${url.pathname}${url.search}` : undefined;
}
