import { systemClock } from '#base';
import { inclusionsOf, numbered } from './fleet-objects.ts';
import { withFleet } from './fleet.ts';
import { costOfReplicas, timesOf } from './measures.ts';
import type { Scenario } from './scenario.ts';

/** 20 kinds of namespaced objects. */
const kindsByGroup = {
  '': [
    ...['ConfigMap', 'Endpoints', 'LimitRange', 'PersistentVolumeClaim', 'Pod', 'PodTemplate'],
    ...['ReplicationController', 'ResourceQuota', 'Secret', 'Service', 'ServiceAccount'],
  ],
  apps: ['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet'],
  batch: ['Job', 'CronJob'],
  'networking.k8s.io': ['Ingress', 'NetworkPolicy'],
  autoscaling: ['HorizontalPodAutoscaler'],
} as const;
/** Namespaces whose drift is measured at the start, and later. */
const sampleCount = 50;

export const namespacesScenario: Scenario = {
  name: 'namespaces',
  about: 'a cluster of which only 500 namespaces may be read, 20 kinds, one Application in each: start of a replica',
  run: async (run) => {
    const size = run.size(500, 5);
    const namespaces = Array.from({ length: size }, (_, i) => numbered('ns', i));
    return withFleet(
      run,
      { clusters: 1, namespaces, inclusions: inclusionsOf(kindsByGroup), objectsPerApplication: 1 },
      async (fleet) => {
        const { sim } = fleet;
        const applications = namespaces.map((namespace, i) => ({ name: numbered('app', i), cluster: 0, namespace }));
        await fleet.seed(applications);
        const step = Math.max(1, Math.floor(size / sampleCount));
        const sample = applications.filter((_app, i) => i % step === 0).map(({ name }) => name);
        await sim.drift(sample);
        await sim.resetCounts();
        const begin = systemClock.monotonic();
        await fleet.scale(1);
        const started = await fleet.repaired();
        const startSeconds = (systemClock.monotonic() - begin) / 1000;
        const replica = fleet.replica(0);
        const watches = await replica.metric('driftless_cluster_open_watches');
        await fleet.settled(size + 1);
        for (const name of sample) {
          await sim.drift([name]);
          await run.pause('drift', run.smoke ? 50 : 200);
        }
        const later = await fleet.repaired();
        const { fileDescriptors } = await replica.holdings();
        const counts = await sim.counts();
        return {
          namespaces_start_seconds: startSeconds,
          ...timesOf('namespaces_start_repaired', started),
          ...timesOf('namespaces_drift', later),
          namespaces_open_watches_count: watches,
          namespaces_file_descriptors_count: fileDescriptors,
          namespaces_cluster_writes_count: counts.clusterWrites,
          namespaces_turned_unknown_count: counts.turnedUnknown.length,
          ...costOfReplicas('namespaces', fleet.replicas()),
        };
      },
    );
  },
};
