import HashRing from 'hashring';

/**
 * The shards in order of preference for a key, for a ring of `replicas` shards. Every shard has the same explicit number of virtual nodes:
 * without it the library derives points from weights in floating point and moves keys needlessly at some sizes (7, 14, 28, 49 ...).
 */
export function shardPreferences(replicas: number): (key: string) => readonly number[] {
  const servers = Object.fromEntries(
    Array.from({ length: replicas }, (_, shard) => [`shard-${shard}`, { vnodes: virtualNodes }]),
  );
  const ring = new HashRing(servers, 'sha256');
  return (key) => ring.range(key).map((name) => Number(name.slice('shard-'.length)));
}

// Not 40: hashring takes its own default for "nothing said" and then goes by weight.
const virtualNodes = 100;
