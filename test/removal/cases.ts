import { seededRandom } from '#base';
import type { KubeObject } from '#model';
import type { ComparisonKind, SyncMethod } from '../../controller/testing/index.ts';
import { otherTools } from './first-sync.ts';
import type { FirstSync } from './first-sync.ts';
import type { MatrixCase } from './matrix.ts';
import { mutationsOf } from './mutations.ts';
import type { Mutation } from './mutations.ts';

const methods: readonly SyncMethod[] = ['client', 'server', 'replace', 'force', 'force replace'];
/** Half of the cases begin with our own sync, half with another tool's. */
const firstSyncs: readonly FirstSync[] = [...methods, ...otherTools];
const kinds: readonly ComparisonKind[] = ['local', 'server'];

/** Cases whose object names its method itself; for the others the Application does. */
const annotatedShare = 0.25;

/** The name of these says what they are, so no two cases can have one. */
const named = ['CustomResourceDefinition', 'APIService', 'StorageVersion', 'IPAddress'];
/** The server ignores every change of its spec, so that it stays OutOfSync. */
const frozen = ['CertificateSigningRequest'];
/**
 * Changes whose result the server decides: it adds the taint to each new Node and the time to each
 * taint, drops a data source that it does not know, and has the default only with an alpha feature.
 */
const unsettled: Readonly<Record<string, string>> = {
  Node: 'spec.taints.2',
  ResourceSlice: 'spec.devices.1.taints.0.timeAdded',
  DeviceTaintRule: 'spec.taint.timeAdded',
  PersistentVolumeClaim: 'spec.dataSource.',
  CSIDriver: 'spec.preventPodSchedulingIfMissing',
};

function isUnsettled({ kind }: KubeObject, { path }: Mutation): boolean {
  const prefix = unsettled[kind];
  return prefix !== undefined && path.startsWith(prefix);
}

/**
 * Cases over all manifests, mutations and modes, each mutation in `modes` modes. The choice depends
 * only on the seed; a smaller `limit` is a sample of the same cases.
 */
export function matrixCases(
  corpus: readonly KubeObject[],
  { limit, modes, seed }: { readonly limit: number; readonly modes: number; readonly seed: number },
): readonly MatrixCase[] {
  const random = seededRandom(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)] as T;
  const renamable = corpus.filter(({ kind }) => ![...named, ...frozen].includes(kind));
  const all = renamable.flatMap((manifest) =>
    mutationsOf(manifest).flatMap((mutation) =>
      Array.from({ length: modes }, (): MatrixCase => ({
        manifest,
        mutation,
        before: pick(firstSyncs),
        method: pick(methods),
        kind: pick(kinds),
        isAnnotated: random.next() < annotatedShare,
      })),
    ),
  );
  for (let i = all.length - 1; i > 0; i -= 1) {
    const j = Math.floor(random.next() * (i + 1));
    [all[i], all[j]] = [all[j]!, all[i]!];
  }
  return all.filter(({ manifest, mutation }) => !isUnsettled(manifest, mutation)).slice(0, limit);
}
