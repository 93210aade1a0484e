import { omit, outsideText, tenantOf } from '#base';
import type { Repository, SourceAddress } from '#model';
import { RepositoryError } from '../../errors.ts';
import { Lru } from '../shared/lru.ts';
import { answerUrl, checkUrl } from '../shared/input-checks.ts';
import type { WebClient } from '../network/web-client.ts';

export interface GitRemote {
  readonly url: SourceAddress;
  readonly repository: Repository;
}

const maxRememberedRedirects = 4096;

/**
 * Follows HTTP redirects on behalf of git, which would follow them without any check of the target.
 * Each hop passes the address rules, and git receives the final URL. Deliberate difference from
 * Argo CD: credentials stay with the origin of the repository's URL.
 */
export class GitRedirects {
  readonly #web: WebClient;
  readonly #cacheDir: string;
  readonly #redirected = new Lru<true>(maxRememberedRedirects);

  constructor(deps: { readonly web: WebClient; readonly cacheDir: string }) {
    this.#web = deps.web;
    this.#cacheDir = deps.cacheDir;
  }

  /**
   * Reports whether the repository redirected last time; if so, redirects are resolved before git
   * runs.
   */
  isKnown({ url }: GitRemote): boolean {
    return this.#redirected.get(url.url) !== undefined;
  }

  /**
   * Returns the remote after redirects; the same remote if there are none.
   * @throws RepositoryError
   */
  async follow(remote: GitRemote, signal: AbortSignal): Promise<GitRemote> {
    const { url, repository } = remote;
    // The request with which git asks for refs (remote-curl.c, discover_refs).
    const tail = '/info/refs?service=git-upload-pack';
    const headers = { 'user-agent': 'git/2.40 (driftless)', 'git-protocol': 'version=2' };
    const asked = { url: answerUrl(`${url.url}${tail}`, url.url), headers, maxBytes: 0, headOnly: true, signal };
    const { finalUrl, hasLeftOrigin } = await this.#web.get(asked, { repository, at: url });
    if (finalUrl === asked.url.url) {
      this.#redirected.delete(url.url);
      return remote;
    }
    this.#redirected.set(url.url, true, 1, tenantOf(signal).project);
    if (!finalUrl.endsWith(tail))
      throw new RepositoryError(
        `${outsideText('url', url.url)} redirects to ${outsideText('url', finalUrl)}, which is no Git repository`,
      );
    const next = checkUrl(finalUrl.slice(0, -tail.length), this.#cacheDir);
    if (!hasLeftOrigin) return { url: next.withLoginOf(url), repository };
    const bare = omit(repository, 'username', 'password', 'bearerToken', 'tlsClientCertData', 'tlsClientCertKey');
    return { url: next, repository: { ...bare, insecure: false } };
  }
}

/** Reports whether git failed because of a redirect. */
export function isRedirect(exitCode: number | null, stderr: string): boolean {
  return exitCode !== 0 && /returned error: 30[12378]/.test(stderr);
}
