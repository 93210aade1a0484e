import { groupOf, isHook, versionOf } from './objects.ts';
import type { ManifestObject } from './objects.ts';

/** Input of statusOf. */
export interface StatusFacts {
  readonly controllerNamespace: string;
  readonly revision: string;
  /** As Argo CD writes it back: with all structures, even empty ones (`jsonnet: {}`). */
  readonly source: object;
  readonly destination: object;
  /** `spec.syncPolicy` of the Application. */
  readonly syncPolicy: { readonly syncOptions?: readonly string[]; readonly managedNamespaceMetadata?: object };
  /** The applied objects, in order of the sync. */
  readonly objects: readonly ManifestObject[];
  /** Names of OutOfSync objects. */
  readonly outOfSync?: readonly string[];
  /** Message of the last sync, if it failed. */
  readonly failure?: string;
}

const at = (second: number): string => `2026-08-01T10:00:${String(second).padStart(2, '0')}Z`;

/** The status of an Application that Argo CD 3.6 writes after an automated sync. */
export function statusOf(facts: StatusFacts): object {
  const { revision, source, destination, failure } = facts;
  const isOutOfSync = (facts.outOfSync ?? []).length > 0;
  const failed = { type: 'SyncError', message: `Failed last sync attempt to [${revision}]: ${failure ?? ''}` };
  return {
    ...(failure === undefined ? {} : { conditions: [{ lastTransitionTime: at(9), ...failed }] }),
    controllerNamespace: facts.controllerNamespace,
    health: { lastTransitionTime: at(8), status: 'Healthy' },
    ...(failure === undefined ? { history: [historyOf(facts)] } : {}),
    operationState: operationStateOf(facts),
    reconciledAt: at(10),
    resourceHealthSource: 'appTree',
    resources: resourcesOf(facts),
    sourceHydrator: {},
    sourceType: 'Directory',
    summary: summaryOf(facts.objects),
    sync: { comparedTo: { destination, source }, revision, status: isOutOfSync ? 'OutOfSync' : 'Synced' },
  };
}

function historyOf({ revision, source }: StatusFacts): object {
  return {
    deployStartedAt: at(0),
    deployedAt: at(5),
    id: 0,
    initiatedBy: { automated: true },
    revision,
    source,
  };
}

function operationStateOf(facts: StatusFacts): object {
  const { revision, source, syncPolicy, failure } = facts;
  const { syncOptions, managedNamespaceMetadata } = syncPolicy;
  return {
    finishedAt: at(5),
    message: failure ?? 'successfully synced (all tasks run)',
    operation: {
      initiatedBy: { automated: true },
      retry: { limit: 5 },
      sync: { prune: true, revision, source, ...(syncOptions === undefined ? {} : { syncOptions }) },
    },
    phase: failure === undefined ? 'Succeeded' : 'Failed',
    startedAt: at(0),
    syncResult: {
      ...(managedNamespaceMetadata === undefined ? {} : { managedNamespaceMetadata }),
      resources: facts.objects.map(resultOf),
      revision,
      source,
    },
  };
}

function resultOf(object: ManifestObject): object {
  const [group, { kind, metadata }] = [groupOf(object), object];
  const kindText = `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}`;
  return {
    group,
    hookPhase: isHook(object) ? 'Succeeded' : 'Running',
    ...(isHook(object) ? { hookType: metadata.annotations?.['argocd.argoproj.io/hook'] } : {}),
    kind,
    message: `${kindText}/${metadata.name} created`,
    name: metadata.name,
    namespace: metadata.namespace ?? '',
    status: 'Synced',
    syncPhase: metadata.annotations?.['argocd.argoproj.io/hook'] ?? 'Sync',
    version: versionOf(object),
  };
}

function resourcesOf({ objects, outOfSync = [] }: StatusFacts): object[] {
  const identity = (object: ManifestObject): string =>
    `${groupOf(object)}/${object.kind}/${object.metadata.namespace ?? ''}/${object.metadata.name}`;
  return [...objects]
    .sort((a, b) => (identity(a) < identity(b) ? -1 : 1))
    .map((object) => {
      const { kind, metadata } = object;
      const wave = Number(metadata.annotations?.['argocd.argoproj.io/sync-wave'] ?? 0);
      return {
        ...(groupOf(object) === '' ? {} : { group: groupOf(object) }),
        ...(isHook(object) ? { hook: true, requiresPruning: true } : {}),
        kind,
        name: metadata.name,
        ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
        ...(isHook(object) ? {} : { status: outOfSync.includes(metadata.name) ? 'OutOfSync' : 'Synced' }),
        ...(wave === 0 ? {} : { syncWave: wave }),
        version: versionOf(object),
      };
    });
}

function summaryOf(objects: readonly ManifestObject[]): object {
  const images = [...JSON.stringify(objects).matchAll(/"image":"([^"]+)"/g)].map(([, image]) => image);
  return images.length === 0 ? {} : { images: [...new Set(images)].sort() };
}
