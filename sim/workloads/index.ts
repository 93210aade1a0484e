/**
 * sim/workloads: what a controller manager and a kubelet would do, as far as GitOps can see it: pods start, sets become ready, jobs end, claims are
 * bound, services get endpoints. Or fail, when told to by the annotation `sim.driftless.io/fail` on a pod template.
 */
import type { Clock, Random } from '#base';
import type { SimStore, Workloads } from '../types.ts';
import { create, Engine } from './engine.ts';
import type { Reconcilers } from './engine.ts';
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

export { failAnnotation } from './pod.ts';

const reconcilers: Reconcilers = {
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
  readonly random: Random;
  /** How long one step of a pod takes, in ms. */
  readonly delayMs: number;
}

/** Starts the workload controllers of one cluster; they work until `stop`. A cluster without a node gets one. */
export function startWorkloads(deps: WorkloadDeps): Workloads {
  const engine = new Engine(deps, reconcilers);
  if (deps.store.list('', 'Node').length === 0) addNode(engine);
  return { stop: () => engine.stop() };
}

function addNode(engine: Engine): void {
  const resources = { cpu: '8', memory: '32Gi', pods: '110' };
  const node = create(engine, {
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
