import { defined } from '#base';
import { annotations, destinationNamespaceOf } from '#model';
import type { Application, KubeObject } from '#model';
import { equalNamespaceMetadata } from './source-equality.ts';

/**
 * The destination Namespace as `CreateNamespace=true` and managedNamespaceMetadata define it; null
 * leaves it alone. If metadata is set, its labels and annotations replace the object's. No tracking
 * is added. Source: Argo CD controller/sync_namespace.go.
 */
export function managedNamespace(app: Application, live: KubeObject | null): KubeObject | null {
  const name = destinationNamespaceOf(app);
  if (name === '') return null;
  const metadata = app.spec.syncPolicy?.managedNamespaceMetadata;
  const bare: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
  if (metadata === undefined) return live === null ? bare : null;
  return {
    ...bare,
    metadata: {
      name,
      ...defined({ labels: metadata.labels }),
      annotations: { ...metadata.annotations, [annotations.syncOptions]: 'ServerSideApply=true' },
    },
  };
}

/** True for the destination Namespace of an Application that sets its metadata. */
export function isManagedNamespace(app: Application, object: KubeObject): boolean {
  return (
    object.kind === 'Namespace' &&
    object.apiVersion === 'v1' &&
    object.metadata.name === app.spec.destination.namespace &&
    app.spec.syncPolicy?.managedNamespaceMetadata !== undefined
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
