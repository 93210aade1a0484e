/** A cluster id, and its shard of 2, 3, 5 and 7 replicas. */
type ShardVector = readonly [string, number, number, number, number];

/** Golden vectors: sharding reference A.11 (FNV-1a cross-checked with Go's unit tests). */
export const legacyVectors: readonly ShardVector[] = [
  ['5f2c1e7a-8b1d-4c55-9d0e-3a7b6f1c2d90', 1, 1, 3, 3],
  ['0b9f8a66-2f0e-4a0b-bb3e-7c5d4e3f2a10', 0, 2, 0, 5],
  ['c3d9e1f2-6a5b-4c7d-8e9f-0a1b2c3d4e5f', 0, 1, 3, 0],
  ['7d444840-9dc0-11d1-b245-5ffdce74fad2', 1, 0, 0, 5],
  ['e7f4b3a2-1c0d-4b5e-a6f7-8091a2b3c4d5', 1, 0, 0, 5],
  ['ffffffff-ffff-4fff-bfff-ffffffffffff', 1, 2, 4, 2],
  ['00000000-0000-4000-8000-000000000001', 0, 2, 2, 4],
  ['https://kubernetes.default.svc', 1, 0, 4, 4],
  ['https://10.0.0.1:6443', 1, 1, 0, 5],
  ['https://ABCDEF0123456789.gr7.eu-west-1.eks.amazonaws.com', 1, 2, 2, 0],
  ['https://mycluster.example.com:8443/k8s/clusters/c-m-abc', 0, 1, 2, 3],
  ['1', 0, 1, 4, 2],
  ['2', 1, 1, 1, 3],
  ['cluster-é', 0, 1, 3, 2],
  ['кластер-1', 1, 1, 3, 3],
  ['集群-東京', 1, 2, 2, 0],
  ['🚀-prod', 0, 1, 0, 0],
  ['', 0, 0, 0, 0],
];

/** A.11: the empty id and the first eleven above, in byte order. */
export const roundRobinVectors: readonly ShardVector[] = [
  ['', 0, 0, 0, 0],
  ['00000000-0000-4000-8000-000000000001', 1, 1, 1, 1],
  ['0b9f8a66-2f0e-4a0b-bb3e-7c5d4e3f2a10', 0, 2, 2, 2],
  ['5f2c1e7a-8b1d-4c55-9d0e-3a7b6f1c2d90', 1, 0, 3, 3],
  ['7d444840-9dc0-11d1-b245-5ffdce74fad2', 0, 1, 4, 4],
  ['c3d9e1f2-6a5b-4c7d-8e9f-0a1b2c3d4e5f', 1, 2, 0, 5],
  ['e7f4b3a2-1c0d-4b5e-a6f7-8091a2b3c4d5', 0, 0, 1, 6],
  ['ffffffff-ffff-4fff-bfff-ffffffffffff', 1, 1, 2, 0],
  ['https://10.0.0.1:6443', 0, 2, 3, 1],
  ['https://ABCDEF0123456789.gr7.eu-west-1.eks.amazonaws.com', 1, 0, 4, 2],
  ['https://kubernetes.default.svc', 0, 1, 0, 3],
  ['https://mycluster.example.com:8443/k8s/clusters/c-m-abc', 1, 2, 1, 4],
];
