import { UsageError } from '#base';
import { algorithms, parseAlgorithm } from '#sharding';
import type { ShardingAlgorithm } from '#sharding';

/** @throws UsageError for an unknown name, which Argo CD reads as `legacy` */
export function checkedAlgorithm(name: string): ShardingAlgorithm {
  const { algorithm, known } = parseAlgorithm(name);
  if (known) return algorithm;
  throw new UsageError(`algorithm must be one of ${algorithms.join(', ')}, not ${JSON.stringify(name)}`);
}
