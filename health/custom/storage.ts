import { check, condition, empty, field, kindsOf, not, outcome } from './check.ts';
import type { CodeRule, HealthRule } from './check.ts';

/** Astra Control: an action with a state. */
const run: readonly HealthRule[] = [
  ['Progressing', empty('status.state'), 'No status available'],
  ['Healthy', field('status.state', 'Completed'), '{kind} Completed'],
  ['Degraded', field('status.state', 'Failed', 'Error', 'Canceled', 'Removed'), '{status.state}'],
];

const ceph: CodeRule = {
  description: 'Healthy when the health of Ceph is HEALTH_OK, otherwise Degraded with the details',
  evaluate: (view) => {
    const health = view.text('status.ceph.health');
    if (health === '') return undefined;
    const details = view
      .members('status.ceph.details')
      .map(([, item]) =>
        typeof item === 'object' && item !== null ? (item as Record<string, unknown>)['message'] : '',
      )
      .filter((text): text is string => typeof text === 'string' && text !== '')
      .join('; ');
    const message = view.text('status.message');
    const text = `Ceph health is ${health}${details === '' ? '' : ` (${details})`}${message === '' ? '' : ` - ${message}`}`;
    return outcome(health === 'HEALTH_OK' ? 'Healthy' : 'Degraded', text);
  },
};

const objectStore: CodeRule = {
  description: 'Healthy when phase is Ready or Connected, Degraded when Failure',
  evaluate: (view) => {
    const phase = view.text('status.phase');
    if (phase === '') return undefined;
    const endpoint = view.text('status.info.endpoint') || view.text('status.info.secureEndpoint');
    const text = `Ceph object store phase is ${phase}${endpoint === '' ? '' : ` - endpoint: ${endpoint}`}`;
    if (phase === 'Ready' || phase === 'Connected') return outcome('Healthy', text);
    return outcome(phase === 'Failure' ? 'Degraded' : 'Progressing', text);
  },
};

const snapshot = (): readonly HealthRule[] => [
  ['Degraded', not(empty('status.error')), '{status.error.message}'],
  ['Healthy', field('status.readyToUse', 'true'), 'Ready to use'],
];

/** Volumes, buckets, snapshots and backups. */
export const storage = [
  check(
    'astra.netapp.io/Application',
    [
      ['Healthy', condition('Ready'), 'Astra Application Ready, protectionState: {status.protectionState}'],
      ['Degraded', condition('Ready', 'False'), 'Astra Application Degraded, message: {@Ready.message}'],
    ],
    ['Progressing', 'No status available'],
  ),
  check(
    kindsOf(
      'astra.netapp.io',
      'AppMirrorUpdate',
      'Backup',
      'BackupInplaceRestore',
      'BackupRestore',
      'ExecHooksRun',
      'KopiaVolumeBackup',
      'KopiaVolumeRestore',
      'ResourceBackup',
      'ResourceDelete',
      'ResourceRestore',
      'ResticVolumeBackup',
      'ResticVolumeRestore',
      'Snapshot',
      'SnapshotInplaceRestore',
      'SnapshotRestore',
    ),
    run,
    ['Progressing', '{kind} {status.state}'],
  ),
  check(
    'astra.netapp.io/ExecHook',
    [['Suspended', not(field('spec.enabled', 'true')), 'ExecHook disabled']],
    ['Healthy', 'ExecHook enabled'],
  ),
  check(
    'astra.netapp.io/Schedule',
    [
      ['Suspended', field('spec.enabled', 'false'), 'Protection policy disabled'],
      ['Healthy', empty('status.lastScheduleTime'), 'Protection policy not yet executed'],
    ],
    ['Healthy', 'Protection policy lastScheduleTime: {status.lastScheduleTime}'],
  ),
  check(
    'cdi.kubevirt.io/DataVolume',
    [
      ['Progressing', empty('status.phase'), 'No status available'],
      ['Healthy', field('status.phase', 'Succeeded'), '{status.phase}'],
      ['Degraded', field('status.phase', 'Failed'), '{status.phase}'],
      ['Suspended', field('status.phase', 'Paused'), '{status.phase}'],
      ['Unknown', field('status.phase', 'Unknown'), '{status.phase}'],
      ['Degraded', condition('Running', 'False', 'Error'), '{@Running.message}'],
    ],
    ['Progressing', '{status.phase}'],
  ),
  check(
    'ceph.rook.io/CephCluster',
    [['Degraded', field('status.state', 'Error'), '{status.message}'], ceph],
    ['Progressing', '{status.message}'],
  ),
  check('ceph.rook.io/CephObjectStore', [objectStore], ['Progressing', 'Ceph object store phase is unknown']),
  check(
    'objectbucket.io/ObjectBucketClaim',
    [
      ['Healthy', field('status.phase', 'Bound'), 'Object bucket claim phase is {status.phase}'],
      ['Degraded', field('status.phase', 'Failed'), 'Object bucket claim phase is {status.phase}'],
    ],
    ['Progressing', 'Object bucket claim phase is {status.phase}'],
  ),
  check('snapshot.storage.k8s.io/VolumeSnapshot', snapshot(), ['Progressing', 'Waiting for status']),
  check('snapshot.storage.k8s.io/VolumeSnapshotContent', snapshot(), ['Progressing', 'Waiting for status']),
  check(
    'trident.netapp.io/TridentBackendConfig',
    [
      ['Healthy', field('status.lastOperationStatus', 'Success'), '{status.message}'],
      ['Degraded', field('status.lastOperationStatus', 'Failed'), '{status.message}'],
    ],
    ['Progressing', 'Waiting for backend creation'],
  ),
  check(
    'trident.netapp.io/TridentOrchestrator',
    [
      ['Healthy', field('status.status', 'Installed'), '{status.message}'],
      ['Degraded', field('status.status', 'Failed', 'Error'), '{status.message}'],
    ],
    ['Progressing', 'Waiting for trident installation'],
  ),
];
