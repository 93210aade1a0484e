import HashRing from 'hashring';

/** The shards in order of preference for a key; `nth(key, 0)` is the nearest on the ring. Undefined beyond the last. */
export interface ShardPreferences {
  nth(key: string, n: number): number | undefined;
}

/**
 * The ring of `replicas` shards. Every shard has the same explicit number of virtual nodes: without it the library derives points from
 * weights in floating point and moves keys needlessly at some sizes (7, 14, 28, 49 ...). Rings never change, so they and the walks over
 * them are kept: a table after one change costs no hashing but that of the new cluster.
 */
export function shardPreferences(replicas: number): ShardPreferences {
  const known = rings.get(replicas);
  if (known !== undefined) return known;
  if (rings.size >= mostRings) rings.clear();
  const ring = new Ring(replicas);
  rings.set(replicas, ring);
  return ring;
}

// Not 40: hashring takes its own default for "nothing said" and then goes by weight.
const virtualNodes = 100;
/** Nearly always one of the first few shards has room. */
const firstWalk = 4;
const mostRings = 4;
const mostKeys = 50_000;
const rings = new Map<number, Ring>();

class Ring implements ShardPreferences {
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
    return this.#walk(key, n < firstWalk ? Math.min(firstWalk, this.#replicas) : this.#replicas)[n];
  }

  #walk(key: string, size: number): readonly number[] {
    if (this.#walks.size >= mostKeys) this.#walks.clear();
    const walk = this.#ring.range(key, size).map((name) => Number(name.slice('shard-'.length)));
    this.#walks.set(key, walk);
    return walk;
  }
}
