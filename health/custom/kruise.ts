import { absent, all, any, check, field, not, outcome, same, truthy, unreadable } from './rules/check.ts';
import type { CodeRule, HealthRule, RuleTest } from './rules/check.ts';
import type { ObjectView } from './rules/view.ts';

const rollingUpdate = 'spec.updateStrategy.rollingUpdate';
const notObserved: RuleTest = any(absent('status'), not(same('metadata.generation', 'status.observedGeneration')));

/** The pods that a partition holds back, when the generation is not the first. */
interface PartitionRule {
  readonly path: string;
  readonly what: string;
  /** An absent partition counts as one (CloneSet and StatefulSet), or as none (DaemonSet). */
  readonly absentCounts: boolean;
  readonly isReached: (view: ObjectView, partition: number) => boolean;
}

/** While a partition holds pods back, no other rule of the kind applies: it waits for a user. */
const heldBack = ({ path, what, absentCounts, isReached }: PartitionRule): CodeRule => ({
  description: `after the first generation, with ${path}: Suspended when only the pods that it holds back are not updated, else Progressing`,
  evaluate: (view) => {
    const partition = view.get(path.split('.'));
    const counts = partition === null ? absentCounts : partition !== 0;
    if (!counts || (view.generation ?? 0) <= 1) return undefined;
    return isReached(view, Number(partition))
      ? outcome('Suspended', `${what} needs manual intervention`)
      : outcome('Progressing', waiting);
  },
});

const waiting = 'Waiting for initialization';
const count = (view: ObjectView, name: string): number => view.number(`status.${name}`) ?? 0;

const workload = (name: string, updateStrategy: string, updated: string): readonly HealthRule[] => [
  ['Progressing', notObserved, waiting],
  unreadable(absent('spec.updateStrategy'), 7, updateStrategy === rollingUpdate ? 'rollingUpdate' : 'paused'),
  unreadable(absent(updateStrategy), 7, 'paused'),
  ['Suspended', any(field(`${updateStrategy}.paused`, true), not(truthy(`status.${updated}`))), `${name} is paused`],
];

const available = (what: string): readonly HealthRule[] => [
  [
    'Healthy',
    same('status.updatedAvailableReplicas', 'status.replicas'),
    `All ${what} workloads are ready and updated`,
  ],
];
const someNotReady = ['Degraded', 'Some replicas are not ready or available'] as const;

const updatedEqualsDesired = same('status.updatedNumberScheduled', 'status.desiredNumberScheduled');

const activeJobs: CodeRule = {
  description: 'Progressing while a job is active',
  evaluate: (view) =>
    view.count('status.active') > 0 ? outcome('Progressing', 'AdvancedCronJobs has active jobs') : undefined,
};

/** Everything after the observed generation: paused, held back, then the replica counts. */
const gameServerSet: CodeRule = {
  description:
    'Suspended when its partition is reached, Healthy when all replicas are updated and ready, Progressing while some are not ready',
  evaluate: (view) => {
    const partition = view.number(`${rollingUpdate}.partition`) ?? 0;
    const total = count(view, 'replicas');
    if (partition !== 0 && count(view, 'updatedReplicas') >= total - partition)
      return outcome('Suspended', `Partition=${partition}, waiting for manual intervention`);
    if (count(view, 'updatedReadyReplicas') === total)
      return outcome('Healthy', 'All GameServerSet replicas are updated and ready');
    const ready = count(view, 'readyReplicas');
    return ready < total ? outcome('Progressing', `ReadyReplicas ${ready}/${total}, still progressing`) : undefined;
  },
};

const stateChange: CodeRule = {
  description: 'Progressing while currentState is not desiredState',
  evaluate: (view) => {
    if (!view.isSet('status') || view.isSame('status.currentState', 'status.desiredState')) return undefined;
    const text = (name: string): string => (view.isSet(name) ? view.text(name) : 'Unknown');
    return outcome('Progressing', `State change: ${text('status.currentState')} → ${text('status.desiredState')}`);
  },
};

const podNotReady: CodeRule = {
  description: 'Degraded when KruisePodReady of its pod is not True',
  evaluate: (view) =>
    view
      .list('status.podStatus.conditions')
      .some((item) => item['type'] === 'KruisePodReady' && item['status'] !== 'True')
      ? outcome('Degraded', 'Pod is not ready: KruisePodReady')
      : undefined,
};

const rolloutStep = (step: string, ...phases: readonly string[]): RuleTest =>
  all(
    same('metadata.generation', 'status.observedGeneration'),
    field('status.canaryStatus.currentStepState', step),
    field('status.phase', ...phases),
  );

/** OpenKruise, with OpenKruiseGame and Kruise Rollouts. */
export const kruise = [
  check(
    'apps.kruise.io/AdvancedCronJob',
    [
      unreadable(absent('status'), 5, 'lastScheduleTime'),
      ['Suspended', all(absent('status.lastScheduleTime'), field('spec.paused', true)), 'AdvancedCronJob is Paused'],
      activeJobs,
      ['Degraded', absent('status.lastScheduleTime'), 'AdvancedCronJobs has not run successfully'],
    ],
    ['Healthy', 'AdvancedCronJobs has run successfully'],
  ),
  check(
    'apps.kruise.io/BroadcastJob',
    [
      [
        'Healthy',
        all(same('status.desired', 'status.succeeded'), field('status.phase', 'completed')),
        'BroadcastJob is completed successfully',
      ],
      ['Degraded', all(not(field('status.failed', 0)), field('status.phase', 'failed')), 'BroadcastJob failed'],
      ['Suspended', all(field('status.phase', 'paused'), field('spec.paused', true)), 'BroadcastJob is Paused'],
    ],
    ['Progressing', 'BroadcastJob is still running'],
  ),
  check(
    'apps.kruise.io/CloneSet',
    [
      ...workload('Cloneset', 'spec.updateStrategy', 'updatedAvailableReplicas'),
      heldBack({
        path: 'spec.updateStrategy.partition',
        what: 'Cloneset',
        absentCounts: true,
        isReached: (view) => count(view, 'updatedReplicas') >= count(view, 'expectedUpdatedReplicas'),
      }),
      ...available('Cloneset'),
    ],
    someNotReady,
  ),
  check(
    'apps.kruise.io/DaemonSet',
    [
      ...workload('Daemonset', rollingUpdate, 'updatedNumberScheduled'),
      heldBack({
        path: `${rollingUpdate}.partition`,
        what: 'Daemonset',
        absentCounts: false,
        isReached: (view, partition) =>
          count(view, 'updatedNumberScheduled') > count(view, 'desiredNumberScheduled') - partition,
      }),
      [
        'Healthy',
        all(updatedEqualsDesired, same('status.numberAvailable', 'status.desiredNumberScheduled')),
        'All Daemonset workloads are ready and updated',
      ],
      [
        'Degraded',
        all(updatedEqualsDesired, same('status.numberUnavailable', 'status.desiredNumberScheduled')),
        'Some pods are not ready or available',
      ],
    ],
    ['Progressing', waiting],
  ),
  check(
    'apps.kruise.io/StatefulSet',
    [
      ...workload('Statefulset', rollingUpdate, 'updatedAvailableReplicas'),
      heldBack({
        path: `${rollingUpdate}.partition`,
        what: 'Statefulset',
        absentCounts: true,
        isReached: (view, partition) => count(view, 'updatedReplicas') > count(view, 'replicas') - partition,
      }),
      ...available('Statefulset'),
    ],
    someNotReady,
  ),
  check(
    'game.kruise.io/GameServer',
    [
      stateChange,
      podNotReady,
      [
        'Healthy',
        all(field('status.currentState', 'Ready'), field('status.desiredState', 'Ready')),
        'GameServer is Ready',
      ],
    ],
    ['Unknown', 'Waiting for GameServer to be ready'],
  ),
  check(
    'game.kruise.io/GameServerSet',
    [
      ['Progressing', notObserved, 'Waiting for GameServerSet initialization'],
      ['Suspended', field(`${rollingUpdate}.paused`, true), 'GameServerSet is paused'],
      gameServerSet,
    ],
    ['Progressing', 'Waiting for GameServerSet initialization'],
  ),
  check(
    'rollouts.kruise.io/Rollout',
    [
      unreadable(absent('status'), 3, 'observedGeneration'),
      unreadable(
        all(same('metadata.generation', 'status.observedGeneration'), absent('status.canaryStatus')),
        5,
        'currentStepState',
      ),
      ['Suspended', rolloutStep('StepPaused', 'Progressing'), 'Rollout is Paused need manual intervention'],
      ['Healthy', rolloutStep('Completed', 'Healthy'), 'Rollout is Completed'],
      ['Degraded', rolloutStep('StepPaused', 'Terminating', 'Disabled'), 'Rollout is Disabled or Terminating'],
    ],
    ['Progressing', 'Rollout is still progressing'],
  ),
];
