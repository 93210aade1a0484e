/**
 * sim/workloads: the visible behaviour of a controller manager and a kubelet: pods start, sets
 * become ready, jobs finish, claims are bound, services get endpoints. Pods fail if the annotation
 * `sim.driftless.io/fail` on a pod template demands it.
 */
import type { Clock, RandomSource } from '#base';
import type { SimStore, WorkloadControllers } from '../types.ts';
import { createObject, WorkloadEngine } from './engine.ts';
import type { KindReconcilers } from './engine.ts';
import { reconcileJob } from './job.ts';
import { reconcilePod } from './pod.ts';
import { reconcileDeployment, reconcileReplicaSet } from './replicas.ts';
import { reconcileDaemonSet, reconcileStatefulSet } from './sets.ts';
import {
  reconcileAutoscaler,
  reconcileBudget,
  reconcileClaim,
  reconcileIngress,
  reconcileService,
  reconcileVolume,
} from './surroundings.ts';

export { delayAnnotation, failAnnotation } from './pod.ts';

const kindReconcilers: KindReconcilers = {
  '/Pod': reconcilePod,
  '/PersistentVolumeClaim': reconcileClaim,
  '/PersistentVolume': reconcileVolume,
  '/Service': reconcileService,
  'apps/Deployment': reconcileDeployment,
  'apps/ReplicaSet': reconcileReplicaSet,
  'apps/StatefulSet': reconcileStatefulSet,
  'apps/DaemonSet': reconcileDaemonSet,
  'batch/Job': reconcileJob,
  'networking.k8s.io/Ingress': reconcileIngress,
  'autoscaling/HorizontalPodAutoscaler': reconcileAutoscaler,
  'policy/PodDisruptionBudget': reconcileBudget,
};

export interface WorkloadDeps {
  readonly store: SimStore;
  readonly clock: Clock;
  readonly random: RandomSource;
  /** The duration of one step of a pod, in ms. */
  readonly delayMs: number;
}

/**
 * Starts the workload controllers of one cluster; they run until `stop`. Adds a node to a cluster
 * without one.
 */
export function startWorkloads(deps: WorkloadDeps): WorkloadControllers {
  const engine = new WorkloadEngine(deps, kindReconcilers);
  if (deps.store.list('', 'Node').length === 0) addNode(engine);
  return { stop: () => engine.stop() };
}

function addNode(engine: WorkloadEngine): void {
  const resources = { cpu: '8', memory: '32Gi', pods: '110' };
  const node = createObject(engine, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'sim-node', labels: { 'kubernetes.io/hostname': 'sim-node', 'kubernetes.io/os': 'linux' } },
    spec: {},
  });
  const now = engine.now();
  engine.setStatus(node, {
    capacity: resources,
    allocatable: resources,
    addresses: [{ type: 'InternalIP', address: '192.0.2.1' }],
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        reason: 'KubeletReady',
        message: 'the node is simulated',
        lastHeartbeatTime: now,
        lastTransitionTime: now,
      },
    ],
    nodeInfo: {
      kubeletVersion: 'v1.32.4',
      osImage: 'simulated',
      containerRuntimeVersion: 'sim://1',
      operatingSystem: 'linux',
      architecture: 'amd64',
      machineID: '',
      systemUUID: '',
      bootID: '',
      kernelVersion: 'sim',
      kubeProxyVersion: '',
    },
  });
}
