import { isObject, ownMember } from '#base';
import {
  absent,
  all,
  check,
  condition,
  field,
  kindsOf,
  on,
  outcome,
  present,
  states,
  truthy,
  walk,
} from './rules/check.ts';
import type { CodeRule, HealthRule } from './rules/check.ts';
import { scalarText } from './rules/view.ts';

/** Astra Control: an action with a state. */
const astraAction: readonly HealthRule[] = [
  ['Progressing', absent('status.state'), 'No status available'],
  ['Healthy', field('status.state', 'Completed'), '{kind} Completed'],
  ['Progressing', field('status.state', 'Running'), '{kind} Running'],
];

/** The texts that are set, joined. */
function joined(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(' - ');
}

/** Rook: the health of Ceph, the state of the cluster when Ceph is healthy, and the message. */
const ceph: CodeRule = {
  description:
    'Degraded when the health of Ceph is HEALTH_ERR or HEALTH_WARN; when it is HEALTH_OK, by state: Healthy when Created or Connected, Degraded when Error; else Progressing',
  evaluate: (view) => {
    if (!view.has('status')) return undefined;
    const health = view.text('status.ceph.health');
    const details = view
      .members('status.ceph.details')
      .map(([, item]) => (isObject(item) ? (ownMember(item, 'message') ?? null) : null))
      .filter((message) => message !== null)
      .map(scalarText);
    const shownDetails = details.length === 0 ? '' : ` (${details.join('; ')})`;
    const healthText = view.has('status.ceph.health') ? `Ceph health is ${health}${shownDetails}` : '';
    const message = view.text('status.message');
    if (health === 'HEALTH_ERR' || health === 'HEALTH_WARN') return outcome('Degraded', joined(healthText, message));
    if (health !== 'HEALTH_OK') return outcome('Progressing', joined(healthText, message));
    if (!view.has('status.state')) return outcome('Healthy', joined(healthText, message));
    const state = view.text('status.state');
    const code =
      state === 'Created' || state === 'Connected' ? 'Healthy' : state === 'Error' ? 'Degraded' : 'Progressing';
    return outcome(code, joined(healthText, `Ceph cluster state is ${state}`, message));
  },
};

const objectStore: CodeRule = {
  description: 'Healthy when phase is Ready, Degraded when Failure, else Progressing',
  evaluate: (view) => {
    if (!view.has('status')) return undefined;
    const phase = view.text('status.phase');
    const start = view.has('status.phase')
      ? `Ceph object store phase is ${phase}`
      : 'Waiting for status to be reported';
    const endpoint = view.text('status.info.endpoint');
    const code = phase === 'Ready' ? 'Healthy' : phase === 'Failure' ? 'Degraded' : 'Progressing';
    return outcome(code, `${start}${endpoint === '' ? '' : ` - endpoint: ${endpoint}`}`);
  },
};

const snapshot: readonly HealthRule[] = [
  ['Healthy', truthy('status.readyToUse'), 'Ready to use'],
  ['Degraded', present('status.error'), '{status.error.message}'],
];

const veleroFailures = [
  'FailedValidation',
  'Failed',
  'PartiallyFailed',
  'WaitingForPluginOperationsPartiallyFailed',
  'FinalizingPartiallyFailed',
];

const velero = (kind: string) =>
  check(
    `velero.io/${kind}`,
    [
      ['Progressing', absent('status.phase'), `Waiting for ${kind.toLowerCase()} to be processed`],
      ['Healthy', field('status.phase', 'Completed'), `${kind} completed`],
      ['Degraded', field('status.phase', ...veleroFailures), '{status.failureReason|status.phase}'],
    ],
    ['Progressing', '{status.phase}'],
  );

/** Volumes, buckets, snapshots and backups. */
export const storage = [
  check(
    'astra.netapp.io/Application',
    [
      walk([
        ['Healthy', on('Ready'), 'Astra Application Ready, protectionState: {status.protectionState}'],
        ['Degraded', on('Ready', 'False'), 'Astra Application Degraded, message: {it.message}'],
      ]),
    ],
    ['Progressing', 'No status available'],
  ),
  check(
    'astra.netapp.io/AppVault',
    states('status.state', {
      'available|Available': ['Healthy', '{kind} Available'],
      'failed|Failed': ['Degraded', '{kind} Failed'],
    }),
    ['Progressing', 'No status available'],
  ),
  check(
    kindsOf('astra.netapp.io', 'Backup', 'ExecHooksRun', 'ResourceBackup', 'ResticVolumeBackup', 'Snapshot'),
    astraAction,
    ['Degraded', '{status.state}'],
  ),
  check(
    'astra.netapp.io/ExecHook',
    [
      ['Healthy', field('spec.enabled', true), '{kind} enabled'],
      ['Suspended', field('spec.enabled', false), '{kind} disabled'],
    ],
    ['Progressing', 'No status available'],
  ),
  check(
    'astra.netapp.io/Schedule',
    [['Healthy', absent('status.lastScheduleTime'), 'Protection policy not yet executed']],
    ['Healthy', 'Protection policy lastScheduleTime: {status.lastScheduleTime}'],
  ),
  check(
    'cdi.kubevirt.io/DataVolume',
    [
      ['Healthy', field('status.phase', 'Succeeded'), 'Succeeded'],
      ['Suspended', field('status.phase', 'Paused'), 'Paused'],
      ['Degraded', condition('Running', 'False', 'Error'), '{it.message}'],
      ['Degraded', field('status.phase', 'Failed', 'Unknown'), '{status.phase}'],
    ],
    ['Progressing', "{status.phase|'No status available'}"],
  ),
  check('ceph.rook.io/CephCluster', [ceph], ['Progressing', 'Waiting for status to be reported']),
  check('ceph.rook.io/CephObjectStore', [objectStore], ['Progressing', 'Waiting for status to be reported']),
  check(
    'minio.min.io/Tenant',
    states('status.currentState', {
      Initialized: ['Healthy', 'Initialized'],
      'Statefulset not controlled by operator|Another MinIO Tenant already exists in the namespace|Tenant credentials are not set properly|Different versions across MinIO Pools|Pool Decommissioning Not Allowed':
        ['Degraded', '{status.currentState}'],
    }),
    ['Progressing', "{status.currentState|'No status info available'}"],
  ),
  check(
    'objectbucket.io/ObjectBucketClaim',
    [
      ['Progressing', absent('status'), 'Waiting for status to be reported'],
      ['Progressing', absent('status.phase'), 'Waiting for phase to be reported'],
      ['Healthy', field('status.phase', 'Bound'), 'Object bucket claim phase is {status.phase}'],
      ['Degraded', field('status.phase', 'Failed'), 'Object bucket claim phase is {status.phase}'],
    ],
    ['Progressing', 'Object bucket claim phase is {status.phase}'],
  ),
  check(kindsOf('snapshot.storage.k8s.io', 'VolumeSnapshot', 'VolumeSnapshotContent'), snapshot, [
    'Progressing',
    'Waiting for status',
  ]),
  check(
    'trident.netapp.io/TridentBackendConfig',
    [
      [
        'Healthy',
        all(field('status.phase', 'Bound'), field('status.lastOperationStatus', 'Success')),
        '{status.message}',
      ],
      ['Degraded', field('status.lastOperationStatus', 'Failed'), '{status.message}'],
    ],
    ['Progressing', 'Waiting for backend creation'],
  ),
  check(
    'trident.netapp.io/TridentOrchestrator',
    states('status.status', {
      Installed: ['Healthy', '{status.message}'],
      'Failed|Error': ['Degraded', '{status.message}'],
    }),
    ['Progressing', 'Waiting for trident installation'],
  ),
  velero('Backup'),
  velero('Restore'),
  check(
    'velero.io/Schedule',
    [
      ['Progressing', absent('status.phase'), 'Waiting for schedule to be processed'],
      ['Healthy', field('status.phase', 'Enabled'), 'Schedule is enabled'],
      ['Degraded', field('status.phase', 'FailedValidation'), 'Schedule failed validation'],
    ],
    ['Progressing', '{status.phase}'],
  ),
];
