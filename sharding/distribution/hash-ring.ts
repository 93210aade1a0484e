import HashRing from 'hashring';

/**
 * Shards in order of preference for a key; `nth(key, 0)` is the nearest. Undefined beyond the last.
 */
export interface ShardPreferences {
  nth(key: string, n: number): number | undefined;
}

/**
 * Returns the ring of `replicas` shards. The number of virtual nodes is explicit, because by
 * default the library derives points from weights in floating point and moves keys needlessly at
 * some sizes (7, 14, 28, 49 ...). Rings are immutable and cached with their walks, so a table
 * change hashes only new clusters.
 */
export function shardPreferences(replicas: number): ShardPreferences {
  const known = rings.get(replicas);
  if (known !== undefined) return known;
  if (rings.size >= maxCachedRings) rings.clear();
  const ring = new ShardRing(replicas);
  rings.set(replicas, ring);
  return ring;
}

// Not 40: hashring treats its default as unset and then uses weights.
const virtualNodes = 100;
/** One of the first few shards nearly always has capacity. */
const firstWalkLength = 4;
const maxCachedRings = 4;
const maxCachedWalks = 50_000;
const rings = new Map<number, ShardRing>();

class ShardRing implements ShardPreferences {
  readonly #replicas: number;
  readonly #ring: HashRing;
  readonly #walks = new Map<string, readonly number[]>();

  constructor(replicas: number) {
    this.#replicas = replicas;
    const servers = Object.fromEntries(
      Array.from({ length: replicas }, (_, shard) => [`shard-${shard}`, { vnodes: virtualNodes }]),
    );
    this.#ring = new HashRing(servers, 'sha256');
  }

  nth(key: string, n: number): number | undefined {
    if (n >= this.#replicas) return undefined;
    const walk = this.#walks.get(key);
    if (walk !== undefined && n < walk.length) return walk[n];
    return this.#walk(key, n < firstWalkLength ? Math.min(firstWalkLength, this.#replicas) : this.#replicas)[n];
  }

  #walk(key: string, size: number): readonly number[] {
    if (this.#walks.size >= maxCachedWalks) this.#walks.clear();
    const walk = this.#ring.range(key, size).map((name) => Number(name.slice('shard-'.length)));
    this.#walks.set(key, walk);
    return walk;
  }
}
