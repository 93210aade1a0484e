/** Argo CD's cache version (common.CacheVersion): part of every key, so that its components of one version read each other only. */
const cacheVersion = '1.8.3';

export interface KeyOptions {
  /** ARGOCD_REDIS_KEY_PREFIX. */
  readonly prefix: string;
  readonly compression: 'gzip' | 'none';
}

/** The names of things in Redis, as Argo CD makes them. Source: util/cache/redis.go, util/cache/appstate/cache.go. */
export class Keys {
  readonly #options: KeyOptions;

  constructor(options: KeyOptions) {
    this.#options = options;
  }

  managedResources(instance: string): string {
    return this.#stored(managed(instance));
  }

  /** Of the part with this number; the first one has the key of a tree in one piece. */
  tree(instance: string, part: number): string {
    const whole = `app|resources-tree|${instance}`;
    return this.#stored(part === 0 ? whole : `${whole}|${part}`);
  }

  clusterInfo(server: string): string {
    return this.#stored(`cluster|info|${server}`);
  }

  /** The channel on which readers of a tree wait. Of the managed resources' key, and without prefix and ending: so Argo CD has it. */
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
