import { cloneJson } from '#base';
import { annotations } from './annotations.ts';
import { annotationOf, labelOf } from './object.ts';
import type { KubeObject, ResourceRef } from './object.ts';

/** argocd-cm `application.resourceTrackingMethod`. */
export type TrackingMethod = 'annotation' | 'label' | 'annotation+label';

export interface TrackingSettings {
  readonly method: TrackingMethod;
  /** argocd-cm `application.instanceLabelKey`. */
  readonly labelKey: string;
  /** argocd-cm `installationID`, "" when unset. */
  readonly installationId: string;
}

/** What a tracking annotation says: which application instance claims which object. */
export interface TrackingId extends ResourceRef {
  readonly app: string;
}

/** `<app>:<group>/<kind>:<namespace>/<name>` (Argo CD: util/argo/resource_tracking.go). */
export function formatTrackingId(id: TrackingId): string {
  return `${id.app}:${id.group}/${id.kind}:${id.namespace}/${id.name}`;
}

/** Undefined when the text is not a tracking id. */
export function parseTrackingId(text: string): TrackingId | undefined {
  const first = text.indexOf(':');
  const second = text.indexOf(':', first + 1);
  if (first < 0 || second < 0) return undefined;
  const groupKind = text.slice(first + 1, second).split('/');
  const namespaceName = text.slice(second + 1).split('/');
  if (groupKind.length !== 2 || namespaceName.length !== 2) return undefined;
  return {
    app: text.slice(0, first),
    group: groupKind[0] ?? '',
    kind: groupKind[1] ?? '',
    namespace: namespaceName[0] ?? '',
    name: namespaceName[1] ?? '',
  };
}

/**
 * A copy of `object` that says that it belongs to application instance `app`. An object without namespace is tracked under
 * `destinationNamespace`, also when it is cluster-scoped (as Argo CD does).
 */
export function withTracking(
  object: KubeObject,
  app: string,
  destinationNamespace: string,
  settings: TrackingSettings,
): KubeObject {
  const metadata = { ...object.metadata };
  if (settings.method !== 'label') {
    const slash = object.apiVersion.indexOf('/');
    const id = formatTrackingId({
      app,
      group: slash < 0 ? '' : object.apiVersion.slice(0, slash),
      kind: object.kind,
      namespace: metadata.namespace ?? destinationNamespace,
      name: metadata.name ?? '',
    });
    const kept = { ...metadata.annotations, [annotations.trackingId]: id };
    if (settings.installationId === '') Reflect.deleteProperty(kept, annotations.installationId);
    else Object.assign(kept, { [annotations.installationId]: settings.installationId });
    Object.assign(metadata, { annotations: kept });
  }
  if (settings.method !== 'annotation') {
    const value = settings.method === 'label' ? app : app.slice(0, 63).replace(/[^A-Za-z0-9]+$/, '');
    Object.assign(metadata, { labels: { ...metadata.labels, [settings.labelKey]: value } });
  }
  return cloneJson({ ...object, metadata });
}

/** The application instance that claims a live object, undefined when none of this installation does. */
export function trackedApp(object: KubeObject, settings: TrackingSettings): string | undefined {
  if (settings.method === 'label') return nonEmpty(labelOf(object, settings.labelKey));
  const text = annotationOf(object, annotations.trackingId);
  const id = text === undefined ? undefined : parseTrackingId(text);
  if (id === undefined) return undefined;
  const installation = annotationOf(object, annotations.installationId) ?? '';
  if (settings.installationId !== '' && installation !== settings.installationId) return undefined;
  return nonEmpty(id.app);
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : text;
}
