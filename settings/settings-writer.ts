import { apiResource } from '#kube';
import type { KubeClient } from '#kube';
import type { SettingsWriter } from './types.ts';

const configMaps = apiResource('v1', 'ConfigMap', 'configmaps', 'namespaced');
const events = apiResource('v1', 'Event', 'events', 'namespaced');
const deadlineMs = 5000;

/** The only writes of this module; a shadow has no writer. */
export function createSettingsWriter(client: Pick<KubeClient, 'create' | 'replace'>): SettingsWriter {
  return {
    keep: async (object, signal) => {
      const isNew = object.metadata.resourceVersion === undefined;
      const options = { signal, deadlineMs };
      await (isNew ? client.create(configMaps, object, options) : client.replace(configMaps, object, options));
    },
    record: async (event, signal) => {
      await client.create(events, event, { signal, deadlineMs });
    },
  };
}
