import { any, check, condition, field, not, empty } from './check.ts';

/** Operators that fit no other file. */
export const operators = [
  check(
    'spot.io/SpotDeployment',
    [
      ['Degraded', field('status.phase', 'Degraded'), '{@Progressing.message}'],
      ['Suspended', field('status.phase', 'Paused'), '{@Progressing.message}'],
      ['Healthy', field('status.phase', 'Healthy'), '{@Progressing.message}'],
      [
        'Degraded',
        any(condition('Progressing', 'False', 'RolloutAborted'), condition('InvalidSpec')),
        '{@Progressing.message}',
      ],
      ['Progressing', not(empty('status.phase')), '{@Progressing.message}'],
    ],
    ['Progressing', 'Waiting for rollout to finish: status has not been reconciled.'],
  ),
];
