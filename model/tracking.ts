import { cloneJson, isObject, ownMember, valueAt } from '#base';
import type { Json, JsonObject } from '#base';
import { annotations, fieldManager, labels } from './annotations.ts';
import { annotationOf, groupOf, labelOf, namespaceIn, refOf } from './object.ts';
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

/** The content of a tracking annotation: which application instance claims which object. */
export interface TrackingId extends ResourceRef {
  readonly app: string;
}

/** `<app>:<group>/<kind>:<namespace>/<name>` (Argo CD: util/argo/resource_tracking.go). */
export function formatTrackingId(id: TrackingId): string {
  return `${id.app}:${id.group}/${id.kind}:${id.namespace}/${id.name}`;
}

/** Undefined if the text is not a tracking id. */
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
 * False for CustomResourceDefinitions. They carry no tracking, so they are never pruned when they
 * leave Git: pruning one makes the server delete every object of its kind (Argo CD: reposerver,
 * where tracking is set).
 */
export function isTrackable(object: Pick<KubeObject, 'apiVersion' | 'kind'>): boolean {
  return object.kind !== 'CustomResourceDefinition' || groupOf(object.apiVersion) !== 'apiextensions.k8s.io';
}

/**
 * A copy of `object` that is tracked by application instance `app`. An object without a namespace
 * is tracked under `destinationNamespace`, even if it is cluster-scoped (as in Argo CD). Returns a
 * CustomResourceDefinition unchanged.
 *
 * Difference: Argo CD tracks a CustomResourceDefinition whose manifest names a namespace.
 */
export function withTracking(
  object: KubeObject,
  app: string,
  destinationNamespace: string,
  settings: TrackingSettings,
): KubeObject {
  if (!isTrackable(object)) return object;
  const metadata = { ...object.metadata };
  if (settings.method !== 'label') {
    const id = formatTrackingId({
      app,
      group: groupOf(object.apiVersion),
      kind: object.kind,
      namespace: namespaceIn(object, destinationNamespace),
      name: metadata.name ?? '',
    });
    const kept = { ...metadata.annotations, [annotations.trackingId]: id };
    if (settings.installationId === '') Reflect.deleteProperty(kept, annotations.installationId);
    else Object.assign(kept, { [annotations.installationId]: settings.installationId });
    Object.assign(metadata, { annotations: kept });
  }
  if (settings.method === 'annotation') return cloneJson({ ...object, metadata });
  const value = settings.method === 'label' ? app : labelValue(app);
  Object.assign(metadata, { labels: { ...metadata.labels, [settings.labelKey]: value } });
  const labelled = { ...object, metadata };
  return cloneJson(settings.labelKey === labels.legacyInstance ? withPodLabel(labelled, value) : labelled);
}

const maxLabelLength = 63;

/** An instance name as a label value: one that is too long is cut after a letter or digit. */
function labelValue(app: string): string {
  if (app.length <= maxLabelLength) return app;
  return app.slice(0, maxLabelLength).replace(/[^A-Za-z0-9]+$/, '');
}

const podOwners: readonly string[] = ['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet'];
/** API versions in which the server defaults a missing selector to the labels of the pods. */
const selfSelecting: readonly string[] = ['apps/v1beta1', 'extensions/v1beta1'];

/**
 * With the oldest label key, pods carry the label too. Where the server would copy it into the
 * immutable selector, the selector is set explicitly without it (Argo CD: util/kube/kube.go
 * SetAppInstanceLabel). A template that is not an object stays as it is; the server reports the
 * error.
 */
function withPodLabel(object: KubeObject, value: string): KubeObject {
  const group = groupOf(object.apiVersion);
  const isOwner = group === 'apps' || group === 'extensions' ? podOwners.includes(object.kind) : isJob(group, object);
  if (!isOwner) return object;
  const spec = childOf(object as unknown as JsonObject, 'spec');
  const template = childOf(spec, 'template');
  const metadata = childOf(template, 'metadata');
  const before = childOf(metadata, 'labels');
  if (spec === undefined || before === undefined) return object;
  const marked = { ...template, metadata: { ...metadata, labels: { ...before, [labels.legacyInstance]: value } } };
  const selector = childOf(spec, 'selector');
  if (!selfSelecting.includes(object.apiVersion) || selector === undefined || Object.keys(selector).length > 0)
    return { ...object, spec: { ...spec, template: marked } };
  const own = Object.fromEntries(Object.entries(before).filter(([key]) => key !== labels.legacyInstance));
  return { ...object, spec: { ...spec, template: marked, selector: { matchLabels: own } } };
}

function isJob(group: string, object: KubeObject): boolean {
  return group === 'batch' && object.kind === 'Job';
}

/**
 * A member that is an object; an empty object if it is missing, undefined if it is something else.
 */
function childOf(parent: JsonObject | undefined, key: string): JsonObject | undefined {
  if (parent === undefined) return undefined;
  const child: Json | undefined = ownMember(parent, key);
  if (child === undefined) return {};
  return isObject(child) ? child : undefined;
}

/**
 * `target` plus the tracking that a live CustomResourceDefinition still has from a controller that
 * tracked it. This is not a difference to act on; the next apply removes it. Returns other kinds
 * unchanged.
 */
export function withLeftoverTracking(target: KubeObject, live: KubeObject, settings: TrackingSettings): KubeObject {
  if (isTrackable(target)) return target;
  const { metadata } = target;
  const id = annotationOf(live, annotations.trackingId);
  const found: Record<string, string> = {};
  for (const name of [annotations.trackingId, annotations.installationId]) {
    const value = annotationOf(live, name);
    if (value !== undefined) found[name] = value;
  }
  const label = labelOf(live, settings.labelKey);
  const app = id === undefined ? undefined : parseTrackingId(id)?.app;
  const ours = label !== undefined && (settings.method === 'label' || (app !== undefined && label === labelValue(app)));
  const labelled = ours ? { labels: { [settings.labelKey]: label, ...metadata.labels } } : {};
  const noted = Object.keys(found).length > 0 ? { annotations: { ...found, ...metadata.annotations } } : {};
  return { ...target, metadata: { ...metadata, ...labelled, ...noted } };
}

/**
 * The application instance that claims a live object, undefined if none of this installation does.
 * An annotation on a CustomResourceDefinition claims nothing.
 */
export function trackedApp(object: KubeObject, settings: TrackingSettings): string | undefined {
  if (settings.method === 'label') return nonEmpty(labelOf(object, settings.labelKey));
  if (!isTrackable(object)) return undefined;
  const text = annotationOf(object, annotations.trackingId);
  const id = text === undefined ? undefined : parseTrackingId(text);
  if (id === undefined) return undefined;
  return otherInstallation(object, settings) === undefined ? nonEmpty(id.app) : undefined;
}

/**
 * The ID of the installation that an object is marked by, if it is not ours; "" if the mark has
 * none. Without an ID of ours, or with tracking by label, no installation is another.
 */
export function otherInstallation(object: KubeObject, settings: TrackingSettings): string | undefined {
  if (settings.method === 'label' || settings.installationId === '') return undefined;
  const installation = annotationOf(object, annotations.installationId) ?? '';
  return installation === settings.installationId ? undefined : installation;
}

/** Whether this controller, under the name of its applies, has set a label. */
export function isLabelledByUs({ metadata }: KubeObject, key: string): boolean {
  return (metadata.managedFields ?? []).some((entry) => {
    const owned: Json | undefined = valueAt(entry, 'fieldsV1', 'f:metadata', 'f:labels');
    return entry['manager'] === fieldManager && isObject(owned) && Object.hasOwn(owned, `f:${key}`);
  });
}

/** Whether the tracking annotation names the object itself: a copy has that of its original. */
export function tracksItself(object: KubeObject, settings: TrackingSettings): boolean {
  if (settings.method === 'label') return false;
  const id = parseTrackingId(annotationOf(object, annotations.trackingId) ?? '');
  return id !== undefined && isNamedBy(id, object);
}

/** Whether the reference is to this object. A cluster-scoped one may be named with a namespace. */
export function isNamedBy(ref: ResourceRef, object: KubeObject): boolean {
  const actual = refOf(object);
  return (
    (actual.namespace === '' || actual.namespace === ref.namespace) &&
    actual.name === ref.name &&
    actual.group === ref.group &&
    actual.kind === ref.kind
  );
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : text;
}
