import { isManagedNamespace } from '#compare';
import {
  annotationOf,
  annotations,
  controllerOf,
  isLabelledByUs,
  isTrackable,
  labelOf,
  labels,
  otherInstallation,
  parseTrackingId,
  refOf,
  trackedApp,
  tracksItself,
} from '#model';
import type { Application, KubeObject, Settings, TrackingId, TrackingSettings } from '#model';
import { wasSynced } from './operation-state.ts';

/** How an object that an Application declares is marked. */
export type ObjectMark =
  /** As this Application's, by the present settings. */
  | 'own'
  /** As this Application's, by settings that were in force before. */
  | 'former'
  /** As this Application's, by an installation of another ID. */
  | 'doubtful'
  /** As another Application's. */
  | 'foreign'
  /** Not at all: it was never synced, or its marks were removed. */
  | 'none'
  /** An owner decides about it, or it never carries a mark. */
  | 'exempt';

export interface MarkContext {
  /** Instance name of the Application. */
  readonly app: string;
  readonly tracking: TrackingSettings;
  /** Label keys that tracked this Application's objects at its last sync, as far as is known. */
  readonly labelKeys: readonly string[];
  /** A Namespace whose metadata the Application writes, with any label, without tracking it. */
  readonly isManagedNamespace: (object: KubeObject) => boolean;
}

/**
 * Finds the mark of an object after a change of the tracking method or of the label key: until the
 * next sync, objects carry the former mark. A label counts only if its key was in force at the last
 * sync, or if this controller's field manager set it: charts set the same labels.
 */
export function markOf(object: KubeObject, context: MarkContext): ObjectMark {
  const { app, tracking, labelKeys } = context;
  if (isOwned(object, tracking)) return 'exempt';
  const present = trackedApp(object, tracking);
  if (present === app) return 'own';
  if (!isTrackable(object)) return 'exempt';
  const id = parseTrackingId(annotationOf(object, annotations.trackingId) ?? '');
  if (id !== undefined && isOfObject(id, object)) {
    if (id.app !== app) return 'foreign';
    // Another installation, or this one under another ID, may have set the mark.
    return otherInstallation(object, tracking) === undefined ? 'former' : 'doubtful';
  }
  if (present !== undefined) return 'foreign';
  if (context.isManagedNamespace(object)) return 'exempt';
  const isOurs = (key: string): boolean => labelOf(object, key) === app;
  const maybe = [...usualKeys, tracking.labelKey];
  const isFormer = labelKeys.some(isOurs) || maybe.some((key) => isOurs(key) && isLabelledByUs(object, key));
  return isFormer ? 'former' : 'none';
}

/** Whether an object that the Application has synced carries its former mark, or a doubtful one. */
export function formerMarks(
  app: Application,
  instance: string,
  { tracking }: Settings,
): (object: KubeObject) => boolean {
  const isNamespace = (object: KubeObject): boolean => isManagedNamespace(app, object);
  const context = { app: instance, tracking, labelKeys: [], isManagedNamespace: isNamespace };
  return (object) => wasSynced(app) && ['former', 'doubtful'].includes(markOf(object, context));
}

/** Whether an owner decides about the object, and not the Application that applied it. */
function isOwned(object: KubeObject, tracking: TrackingSettings): boolean {
  const { ownerReferences = [] } = object.metadata;
  return ownerReferences.length > 0 && (controllerOf(object) !== undefined || !tracksItself(object, tracking));
}

/** Groups objects by their marks. */
export function groupByMark(
  objects: readonly KubeObject[],
  context: MarkContext,
): Readonly<Record<ObjectMark, readonly KubeObject[]>> {
  const groups: Record<ObjectMark, KubeObject[]> = {
    own: [],
    former: [],
    doubtful: [],
    foreign: [],
    none: [],
    exempt: [],
  };
  for (const object of objects) groups[markOf(object, context)].push(object);
  return groups;
}

/** Label keys that installations use: the default, the oldest one, and that of Argo CD's docs. */
const usualKeys = [labels.instance, labels.legacyInstance, 'argocd.argoproj.io/instance'];

/** The namespace is left out: cluster-scoped objects carry that of the destination. */
function isOfObject(id: TrackingId, object: KubeObject): boolean {
  const { group, kind, name } = refOf(object);
  return id.group === group && id.kind === kind && id.name === name;
}
