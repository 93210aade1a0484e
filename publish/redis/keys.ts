/**
 * Argo CD's cache version (common.CacheVersion), part of every key: components share data only with
 * their own version.
 */
const cacheVersion = '1.8.3';

export interface KeyOptions {
  /** ARGOCD_REDIS_KEY_PREFIX. */
  readonly prefix: string;
  readonly compression: 'gzip' | 'none';
}

/** Argo CD's Redis keys and channels. Source: util/cache/redis.go, util/cache/appstate/cache.go. */
export class RedisKeys {
  readonly #options: KeyOptions;

  constructor(options: KeyOptions) {
    this.#options = options;
  }

  managedResources(instance: string): string {
    return this.#stored(managed(instance));
  }

  /** Key of a numbered part; the first one has the key of an unsplit tree. */
  tree(instance: string, part: number): string {
    const whole = `app|resources-tree|${instance}`;
    return this.#stored(part === 0 ? whole : `${whole}|${part}`);
  }

  clusterInfo(server: string): string {
    return this.#stored(`cluster|info|${server}`);
  }

  /**
   * Channel for readers of a tree. Named after the managed resources, without prefix and suffix, as
   * in Argo CD.
   */
  treeChannel(instance: string): string {
    return `${managed(instance)}|${cacheVersion}`;
  }

  #stored(logical: string): string {
    const { prefix, compression } = this.#options;
    return `${prefix}${logical}|${cacheVersion}${compression === 'gzip' ? '.gz' : ''}`;
  }
}

function managed(instance: string): string {
  return `app|managed-resources|${instance}`;
}
