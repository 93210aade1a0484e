import { all, any, check, condition, empty, field, less, not, outcome, present, stale, unobserved } from './check.ts';
import type { CodeRule } from './check.ts';
import { scalarText } from './view.ts';

/**
 * A rollout that stops at a partition waits for a user once all pods outside the partition are
 * updated.
 */
const partition = (path: string, total: string, updated: string, message: string): CodeRule => ({
  description: `Suspended when only the pods held back by ${path} are not updated`,
  evaluate: (view) => {
    const held = view.number(path) ?? 0;
    if (held <= 0) return undefined;
    const reached = (view.number(updated) ?? 0) >= (view.number(total) ?? 0) - held;
    return reached ? outcome('Suspended', message.replace('{partition}', String(held))) : undefined;
  },
});

const notReady = (what: string): readonly ['Degraded', string] => [
  'Degraded',
  `Some ${what} are not ready or available`,
];

/** OpenKruise, with OpenKruiseGame and Kruise Rollouts. */
export const kruise = [
  check(
    'apps.kruise.io/AdvancedCronJob',
    [
      ['Suspended', field('spec.paused', 'true'), 'AdvancedCronJob is Paused'],
      ['Progressing', empty('status'), 'AdvancedCronJobs has not been scheduled'],
      ['Progressing', not(empty('status.active')), 'AdvancedCronJobs has active jobs'],
      ['Degraded', empty('status.lastScheduleTime'), 'AdvancedCronJobs has not run successfully'],
    ],
    ['Healthy', 'AdvancedCronJobs has run successfully'],
  ),
  check(
    'apps.kruise.io/BroadcastJob',
    [
      ['Suspended', any(field('spec.paused', 'true'), field('status.phase', 'paused')), 'BroadcastJob is Paused'],
      ['Degraded', any(field('status.phase', 'failed'), condition('Failed')), 'BroadcastJob failed'],
      [
        'Healthy',
        any(field('status.phase', 'completed'), condition('Complete')),
        'BroadcastJob is completed successfully',
      ],
      ['Progressing', field('status.phase', 'running'), 'BroadcastJob is still running'],
    ],
    ['Progressing', 'Waiting for initialization'],
  ),
  check(
    'apps.kruise.io/CloneSet',
    [
      ['Progressing', unobserved(), 'Waiting for initialization'],
      ['Suspended', field('spec.updateStrategy.paused', 'true'), 'Cloneset is paused'],
      partition(
        'spec.updateStrategy.partition',
        'status.replicas',
        'status.updatedReplicas',
        'Cloneset needs manual intervention',
      ),
      [
        'Healthy',
        all(not(less('status.updatedAvailableReplicas', 'status.replicas'))),
        'All Cloneset workloads are ready and updated',
      ],
    ],
    notReady('replicas'),
  ),
  check(
    'apps.kruise.io/DaemonSet',
    [
      ['Progressing', unobserved(), 'Waiting for initialization'],
      ['Suspended', field('spec.updateStrategy.rollingUpdate.paused', 'true'), 'Daemonset is paused'],
      partition(
        'spec.updateStrategy.rollingUpdate.partition',
        'status.desiredNumberScheduled',
        'status.updatedNumberScheduled',
        'Daemonset needs manual intervention',
      ),
      [
        'Healthy',
        all(
          not(less('status.updatedNumberScheduled', 'status.desiredNumberScheduled')),
          not(less('status.numberAvailable', 'status.desiredNumberScheduled')),
        ),
        'All Daemonset workloads are ready and updated',
      ],
    ],
    notReady('pods'),
  ),
  check(
    'apps.kruise.io/StatefulSet',
    [
      ['Progressing', unobserved(), 'Waiting for initialization'],
      ['Suspended', field('spec.updateStrategy.rollingUpdate.paused', 'true'), 'Statefulset is paused'],
      partition(
        'spec.updateStrategy.rollingUpdate.partition',
        'status.replicas',
        'status.updatedReplicas',
        'Statefulset needs manual intervention',
      ),
      [
        'Healthy',
        not(less('status.updatedAvailableReplicas', 'status.replicas')),
        'All Statefulset workloads are ready and updated',
      ],
    ],
    notReady('replicas'),
  ),
  check(
    'game.kruise.io/GameServer',
    [
      ['Progressing', any(empty('status.currentState'), empty('status.desiredState')), 'Waiting for GameServer status'],
      stateChange(),
      podNotReady(),
    ],
    ['Healthy', 'GameServer is {status.currentState}'],
  ),
  check(
    'game.kruise.io/GameServerSet',
    [
      ['Progressing', unobserved(), 'Waiting for GameServerSet initialization'],
      ['Suspended', field('spec.updateStrategy.rollingUpdate.paused', 'true'), 'GameServerSet is paused'],
      partition(
        'spec.updateStrategy.rollingUpdate.partition',
        'spec.replicas',
        'status.updatedReplicas',
        'Partition={partition}, waiting for manual intervention',
      ),
      [
        'Progressing',
        less('status.readyReplicas', 'spec.replicas'),
        'ReadyReplicas {status.readyReplicas}/{spec.replicas}, still progressing',
      ],
      [
        'Progressing',
        all(present('status.updatedReadyReplicas'), less('status.updatedReadyReplicas', 'spec.replicas')),
        'UpdatedReadyReplicas {status.updatedReadyReplicas}/{spec.replicas}, still progressing',
      ],
    ],
    ['Healthy', 'All GameServerSet replicas are ready and updated'],
  ),
  check(
    'rollouts.kruise.io/Rollout',
    [
      ['Progressing', stale(), 'Rollout is still progressing'],
      [
        'Suspended',
        any(
          field('status.canaryStatus.currentStepState', 'StepPaused'),
          field('status.blueGreenStatus.currentStepState', 'StepPaused'),
        ),
        'Rollout is Paused need manual intervention',
      ],
      ['Suspended', any(field('spec.disabled', 'true'), field('status.phase', 'Disabled')), 'Rollout is disabled'],
      ['Degraded', condition('Succeeded', 'False'), 'Rollout is Cancelled'],
      ['Healthy', field('status.phase', 'Healthy', 'Disabled'), 'Rollout is Completed'],
      ['Progressing', field('status.phase', 'Progressing'), 'Rollout is still progressing'],
    ],
    ['Progressing', 'Waiting for initialization'],
  ),
];

function stateChange(): CodeRule {
  return {
    description: 'Progressing while currentState is not desiredState',
    evaluate: (view) => {
      const [current, desired] = [view.text('status.currentState'), view.text('status.desiredState')];
      return current === desired ? undefined : outcome('Progressing', `State change: ${current} → ${desired}`);
    },
  };
}

function podNotReady(): CodeRule {
  return {
    description: 'Degraded when a condition of its pod is not True',
    evaluate: (view) => {
      const bad = view.list('status.podStatus.conditions').find((item) => item['status'] !== 'True');
      return bad === undefined ? undefined : outcome('Degraded', `Pod is not ready: ${scalarText(bad['type'])}`);
    },
  };
}
