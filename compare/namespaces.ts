import { defined } from '#base';
import { annotations, appKeyOf, destinationNamespaceOf } from '#model';
import type { AppKey, Application, ApplicationCondition, KubeObject, SyncPolicy } from '#model';
import { equalNamespaceMetadata } from './source-equality.ts';

type NamespaceMetadata = NonNullable<SyncPolicy['managedNamespaceMetadata']>;

/** Another Application that manages metadata of the same Namespace. */
export interface NamespaceSharer {
  readonly key: AppKey;
  readonly metadata: NamespaceMetadata;
}

const parts = ['labels', 'annotations'] as const;

/**
 * The destination Namespace as `CreateNamespace=true` and managedNamespaceMetadata define it; null
 * leaves it alone. If metadata is set, its labels and annotations replace those that we applied
 * before. No tracking is added. Source: Argo CD controller/sync_namespace.go.
 *
 * Difference: what `sharers` manage stays as it is. Nothing of theirs is added, so that no
 * Application writes with the rights of another one.
 */
export function managedNamespace(
  app: Application,
  live: KubeObject | null,
  sharers: readonly NamespaceSharer[] = [],
): KubeObject | null {
  const name = destinationNamespaceOf(app);
  if (name === '') return null;
  const metadata = app.spec.syncPolicy?.managedNamespaceMetadata;
  const bare: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
  if (metadata === undefined) return live === null ? bare : null;
  const shared = withShared(app, metadata, live, sharers);
  return {
    ...bare,
    metadata: {
      name,
      ...defined({ labels: shared.labels }),
      annotations: { ...shared.annotations, [annotations.syncOptions]: 'ServerSideApply=true' },
    },
  };
}

/** Keeps keys of others, and a value of the first Application (by key) if two want another one. */
function withShared(
  app: Application,
  own: NamespaceMetadata,
  live: KubeObject | null,
  sharers: readonly NamespaceSharer[],
): NamespaceMetadata {
  const kept = (part: (typeof parts)[number]): Record<string, string> =>
    Object.fromEntries(
      sharers.flatMap(({ key, metadata }) =>
        Object.entries(metadata[part] ?? {}).flatMap(([name, value]): [string, string][] => {
          const present = live?.metadata[part]?.[name];
          const isOurs = own[part]?.[name] !== undefined && !(key < appKeyOf(app) && present === value);
          return present === undefined || isOurs ? [] : [[name, present]];
        }),
      ),
    );
  const [labels, notes] = parts.map((part) => ({ ...own[part], ...kept(part) }));
  const isSet = own.labels !== undefined || Object.keys(labels ?? {}).length > 0;
  return { ...(isSet ? defined({ labels }) : {}), ...defined({ annotations: notes }) };
}

/** One warning for each Application that wants another value of the same label or annotation. */
export function sharedNamespaceWarnings(
  app: Application,
  sharers: readonly NamespaceSharer[],
): readonly ApplicationCondition[] {
  const own = app.spec.syncPolicy?.managedNamespaceMetadata;
  if (own === undefined) return [];
  return sharers.flatMap(({ key, metadata }) => {
    const keys = parts.flatMap((part) =>
      Object.entries(metadata[part] ?? {}).flatMap(([name, value]) =>
        (own[part]?.[name] ?? value) === value ? [] : [`metadata.${part}.${name}`],
      ),
    );
    if (keys.length === 0) return [];
    const message = `Namespace/${destinationNamespaceOf(app)} is part of applications ${appKeyOf(app)} and ${key}, which set ${keys.join(', ')} to different values`;
    return [{ type: 'SharedResourceWarning' as const, message }];
  });
}

/** True for the destination Namespace of an Application that sets its metadata. */
export function isManagedNamespace(app: Application, object: KubeObject): boolean {
  return (
    object.kind === 'Namespace' &&
    object.apiVersion === 'v1' &&
    object.metadata.name === app.spec.destination.namespace &&
    managesNamespaceMetadata(app)
  );
}

export function managesNamespaceMetadata({ spec }: Application): boolean {
  return spec.syncPolicy?.managedNamespaceMetadata !== undefined;
}

/** Whether a sync writes the metadata of the Namespace although it does not track it. */
export function writesNamespaceMetadata(app: Application): boolean {
  const isCreated = app.spec.syncPolicy?.syncOptions?.includes('CreateNamespace=true') === true;
  return isCreated && managesNamespaceMetadata(app) && destinationNamespaceOf(app) !== '';
}

/** Whether a label or an annotation is missing, or has another value. */
export function lacksMetadata(live: KubeObject, wanted: KubeObject): boolean {
  return parts.some((part) =>
    Object.entries(wanted.metadata[part] ?? {}).some(([name, value]) => live.metadata[part]?.[name] !== value),
  );
}

/** Argo CD: the metadata is set, an operation recorded what it applied, and the two differ. */
export function managedNamespaceMetadataChanged(app: Application): boolean {
  const wanted = app.spec.syncPolicy?.managedNamespaceMetadata;
  const result = app.status?.operationState?.syncResult;
  return (
    wanted !== undefined && result !== undefined && !equalNamespaceMetadata(wanted, result.managedNamespaceMetadata)
  );
}
