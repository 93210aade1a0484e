import { createPrivateKey, createSign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { hashText, isObject, ownMember, parseJson, tenantOf } from '#base';
import type { Clock, Json } from '#base';
import type { GitHubApp, Repository, SourceAddress } from '#model';
import { RepositoryError } from '../../errors.ts';
import { Lru } from '../shared/lru.ts';
import { SharedJobs } from '../shared/shared-jobs.ts';
import { answerUrl, checkWebUrl } from '../shared/input-checks.ts';
import type { RepositoryAccess, WebClient } from '../network/web-client.ts';

export interface GitHubAppsDeps {
  readonly clock: Clock;
  readonly web: WebClient;
  readonly deadlineMs: number;
  /** Upper bound on the use of a token. */
  readonly maxTokenMs?: number;
}

/** Tokens last an hour; renew early, so a token outlasts the operation that starts with it. */
const tokenLifetimeMs = 50 * 60_000;
const maxBytes = 4 * 1024 * 1024;

/**
 * Installation tokens of GitHub Apps (Argo CD: util/git/creds.go, GitHubAppCreds): the app
 * authenticates with a signed JWT and gets a token for the organisation's installation. Without a
 * configured installation, the one of the repository's owner is looked up.
 */
export class GitHubApps {
  readonly #deps: GitHubAppsDeps;
  readonly #tokens = new Lru<{ readonly token: string; readonly until: number }>(1024);
  readonly #asking: SharedJobs<string>;

  constructor(deps: GitHubAppsDeps) {
    this.#deps = deps;
    this.#asking = new SharedJobs({ clock: deps.clock, limitMs: deps.deadlineMs });
  }

  /** Returns the password for a repository. @throws RepositoryError without key or token */
  async token(app: GitHubApp, repository: Repository, at: SourceAddress, signal: AbortSignal): Promise<string> {
    const owner = at.segments[0]?.toLowerCase() ?? '';
    const key = [app.id, app.installationId || owner, app.baseUrl, hashText(app.privateKey.reveal())].join(' ');
    const known = this.#tokens.get(key);
    if (known !== undefined && this.#deps.clock.monotonic() < known.until) return known.token;
    return this.#asking.run(key, 'getting a token for a GitHub App', signal, async (work) => {
      const asked: AppRequest = { app, repository, jwt: signedJwt(app, this.#deps.clock.now()), signal: work };
      const installation = app.installationId || (await this.#installation(asked, owner));
      const began = this.#deps.clock.monotonic();
      const answer = await this.#call(asked, `/app/installations/${installation}/access_tokens`, 'POST');
      const token = isObject(answer) ? ownMember(answer, 'token') : undefined;
      if (typeof token !== 'string' || token === '') throw authenticationError(app, 'it returned no token');
      const until = began + Math.min(tokenLifetimeMs, this.#deps.maxTokenMs ?? Infinity);
      this.#tokens.set(key, { token, until }, 1, tenantOf(work).project);
      return token;
    });
  }

  async #installation(asked: AppRequest, owner: string): Promise<string> {
    for (let page = 1; page <= 50; page += 1) {
      const list = await this.#call(asked, `/app/installations?per_page=100&page=${page}`, 'GET');
      if (!Array.isArray(list) || list.length === 0) break;
      for (const one of list as readonly Json[]) {
        const account = isObject(one) ? ownMember(one, 'account') : undefined;
        const login = account !== undefined && isObject(account) ? ownMember(account, 'login') : undefined;
        const id = isObject(one) ? ownMember(one, 'id') : undefined;
        const isOwner = typeof login === 'string' && login.toLowerCase() === owner;
        if (isOwner && (typeof id === 'number' || typeof id === 'bigint')) return id.toString();
      }
    }
    throw authenticationError(asked.app, `it has no installation for "${owner}"`);
  }

  async #call({ app, repository, jwt, signal }: AppRequest, path: string, method: 'GET' | 'POST'): Promise<Json> {
    const base = app.baseUrl.replace(/\/+$/, '');
    const headers = { accept: 'application/vnd.github+json' };
    const { insecure, proxy, noProxy } = repository;
    const access = {
      repository: {
        url: base,
        type: 'git',
        insecure,
        inheritedCreds: false,
        ...(proxy === undefined ? {} : { proxy }),
        ...(noProxy === undefined ? {} : { noProxy }),
      },
      at: checkWebUrl(base),
      bearer: jwt,
    } satisfies RepositoryAccess;
    const answer = await this.#deps.web.get(
      { url: answerUrl(`${base}${path}`, base), method, headers, maxBytes, signal },
      access,
    );
    if (answer.status !== 200 && answer.status !== 201)
      throw authenticationError(app, `${base} answers with status ${answer.status}`);
    try {
      return parseJson(answer.body.toString('utf8'));
    } catch {
      throw authenticationError(app, `${base} returned no JSON`);
    }
  }
}

interface AppRequest {
  readonly app: GitHubApp;
  readonly repository: Repository;
  readonly jwt: string;
  readonly signal: AbortSignal;
}

/** Valid for at most ten minutes; issued a minute in the past to allow for clock differences. */
function signedJwt(app: GitHubApp, now: number): string {
  const seconds = Math.floor(now / 1000);
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part({ alg: 'RS256', typ: 'JWT' })}.${part({ iat: seconds - 60, exp: seconds + 540, iss: app.id })}`;
  let key: KeyObject;
  try {
    key = createPrivateKey(app.privateKey.reveal());
  } catch {
    throw authenticationError(app, 'its private key cannot be read');
  }
  return `${text}.${createSign('RSA-SHA256').update(text).sign(key, 'base64url')}`;
}

function authenticationError(app: GitHubApp, why: string): RepositoryError {
  return new RepositoryError(`failed to authenticate as the GitHub App ${app.id}: ${why}`);
}
