// Five clusters on two replicas, and what a third replica would move.
import { algorithms, distribute } from '@driftless/engine/sharding';

const clusters = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ id: `uid-${name}`, server: `https://${name}` }));
const weights = new Map(clusters.map(({ server }) => [server, 10]));

for (const algorithm of algorithms) {
  const two = distribute(algorithm, clusters, weights, 2);
  const three = distribute(algorithm, clusters, weights, 3);
  const moved = [...two].filter(([part, shard]) => three.get(part) !== shard);
  console.log(`${algorithm}: ${[...two.values()].join(' ')}, ${moved.length} of ${two.size} would move`);
}
