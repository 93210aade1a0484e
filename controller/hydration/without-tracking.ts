import { omit } from '#base';
import { annotations } from '#model';
import type { KubeObject, TrackingSettings } from '#model';

const instanceLabel = 'app.kubernetes.io/instance';

/** The object without what tracks it, which is added when it is synced (RemoveAppInstance). */
export function withoutTracking(object: KubeObject, method: TrackingSettings['method']): KubeObject {
  let { metadata } = object;
  if (method !== 'label') {
    const rest = omit(omit(metadata.annotations ?? {}, annotations.trackingId), annotations.installationId);
    metadata = withMap(metadata, 'annotations', rest);
  }
  if (method !== 'annotation') metadata = withMap(metadata, 'labels', omit(metadata.labels ?? {}, instanceLabel));
  return metadata === object.metadata ? object : { ...object, metadata };
}

/** An emptied map is removed; one without a change stays as it is. */
function withMap(
  metadata: KubeObject['metadata'],
  name: 'annotations' | 'labels',
  rest: Readonly<Record<string, string>>,
): KubeObject['metadata'] {
  const before = metadata[name];
  const size = Object.keys(rest).length;
  if (before === undefined || size === Object.keys(before).length) return metadata;
  return size === 0 ? omit(metadata, name) : { ...metadata, [name]: rest };
}
