import { at, isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import { ageOf } from './duration-text.ts';
import { count, field, items, itemsOf, str, text } from './fields.ts';
import { conditionStatus, joined, sizeCell, textCell } from './printer.ts';
import type { Printer } from './printer.ts';

const createdAt: Printer = {
  columns: 'Name | Created At:date',
  cells: (object) => [object.metadata.creationTimestamp ?? ''],
};
const binding: Printer = {
  columns: 'Name | Role | Age | Users* | Groups* | ServiceAccounts*',
  cells: (object) => [
    `${text(object, 'roleRef', 'kind')}/${text(object, 'roleRef', 'name')}`,
    subjects(object, 'User').join(', '),
    subjects(object, 'Group').join(', '),
    subjects(object, 'ServiceAccount').join(', '),
  ],
};
const webhooks: Printer = {
  columns: 'Name | Webhooks | Age',
  cells: (object) => [items(object, 'webhooks').length],
};

/** Configuration, cluster, storage and policy kinds. */
export const clusterPrinters: Readonly<Record<string, Printer>> = {
  '/ConfigMap': {
    columns: 'Name | Data | Age',
    cells: (object) => [sizeCell(object, 'data') + sizeCell(object, 'binaryData')],
  },
  '/Secret': {
    columns: 'Name | Type | Data | Age',
    cells: (object) => [text(object, 'type'), sizeCell(object, 'data')],
  },
  '/Namespace': { columns: 'Name | Status | Age', cells: (object) => [text(object, 'status', 'phase')] },
  '/ServiceAccount': { columns: 'Name | Age', cells: () => [] },
  '/Event': {
    columns: 'Last Seen | Type | Reason | Object | Subobject* | Source* | Message | First Seen* | Count* | Name*',
    cells: (object, now) => eventCells(object, now),
    whole: true,
  },
  '/Node': {
    columns:
      'Name | Status | Roles | Age | Version | Internal-IP* | External-IP* | OS-Image* | Kernel-Version* | Container-Runtime*',
    cells: nodeCells,
  },
  '/PersistentVolume': {
    columns:
      'Name | Capacity | Access Modes | Reclaim Policy | Status | Claim | StorageClass | VolumeAttributesClass | Reason | Age | VolumeMode*',
    cells: (object) => [
      textCell(object, ['spec', 'capacity', 'storage'], ''),
      accessModes(field(object, 'spec', 'accessModes')),
      text(object, 'spec', 'persistentVolumeReclaimPolicy'),
      phase(object),
      claim(object),
      text(object, 'spec', 'storageClassName'),
      textCell(object, ['spec', 'volumeAttributesClassName'], '<unset>'),
      text(object, 'status', 'reason'),
      textCell(object, ['spec', 'volumeMode'], '<unset>'),
    ],
  },
  '/PersistentVolumeClaim': {
    columns:
      'Name | Status | Volume | Capacity | Access Modes | StorageClass | VolumeAttributesClass | Age | VolumeMode*',
    cells: (object) => [
      phase(object),
      text(object, 'spec', 'volumeName'),
      textCell(object, ['status', 'capacity', 'storage'], ''),
      accessModes(field(object, 'status', 'accessModes')),
      text(object, 'spec', 'storageClassName'),
      textCell(object, ['spec', 'volumeAttributesClassName'], '<unset>'),
      textCell(object, ['spec', 'volumeMode'], '<unset>'),
    ],
  },
  '/ResourceQuota': {
    columns: 'Name | Request | Limit | Age',
    cells: (object) => [quota(object, false), quota(object, true)],
  },
  '/LimitRange': createdAt,
  'rbac.authorization.k8s.io/Role': createdAt,
  'rbac.authorization.k8s.io/ClusterRole': createdAt,
  'rbac.authorization.k8s.io/RoleBinding': binding,
  'rbac.authorization.k8s.io/ClusterRoleBinding': binding,
  'apiextensions.k8s.io/CustomResourceDefinition': createdAt,
  'apiregistration.k8s.io/APIService': {
    columns: 'Name | Service | Available | Age',
    cells: (object) => [
      field(object, 'spec', 'service') === undefined
        ? 'Local'
        : `${text(object, 'spec', 'service', 'namespace')}/${text(object, 'spec', 'service', 'name')}`,
      conditionStatus(object, 'Available') ?? 'Unknown',
    ],
  },
  'admissionregistration.k8s.io/MutatingWebhookConfiguration': webhooks,
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration': webhooks,
  'autoscaling/HorizontalPodAutoscaler': {
    columns: 'Name | Reference | Targets | MinPods | MaxPods | Replicas | Age',
    cells: (object) => [
      `${text(object, 'spec', 'scaleTargetRef', 'kind')}/${text(object, 'spec', 'scaleTargetRef', 'name')}`,
      targets(object),
      textCell(object, ['spec', 'minReplicas'], '<unset>'),
      count(object, ['spec', 'maxReplicas']),
      count(object, ['status', 'currentReplicas']),
    ],
  },
  'coordination.k8s.io/Lease': {
    columns: 'Name | Holder | Age',
    cells: (object) => [text(object, 'spec', 'holderIdentity')],
  },
  'policy/PodDisruptionBudget': {
    columns: 'Name | Min Available | Max Unavailable | Allowed Disruptions:integer | Age',
    cells: (object) => [
      textCell(object, ['spec', 'minAvailable'], 'N/A'),
      textCell(object, ['spec', 'maxUnavailable'], 'N/A'),
      count(object, ['status', 'disruptionsAllowed']),
    ],
  },
  'scheduling.k8s.io/PriorityClass': {
    columns: 'Name | Value | Global-Default | Age | PreemptionPolicy',
    cells: (object) => [
      count(object, ['value']),
      field(object, 'globalDefault') === true,
      textCell(object, ['preemptionPolicy'], 'PreemptLowerPriority'),
    ],
  },
  'storage.k8s.io/StorageClass': {
    columns: 'Name | Provisioner | ReclaimPolicy | VolumeBindingMode | AllowVolumeExpansion | Age',
    cells: (object) => [
      text(object, 'provisioner'),
      textCell(object, ['reclaimPolicy'], 'Delete'),
      textCell(object, ['volumeBindingMode'], 'Immediate'),
      field(object, 'allowVolumeExpansion') === true,
    ],
  },
};

function eventCells(event: KubeObject, now: number): readonly Json[] {
  const first = field(event, 'firstTimestamp') ?? field(event, 'eventTime');
  const last = field(event, 'lastTimestamp') ?? first;
  const object = (field(event, 'involvedObject') ?? {}) as JsonObject;
  const source = joined(
    [text(event, 'source', 'component'), text(event, 'source', 'host')].filter((part) => part !== ''),
  ).replace('<none>', text(event, 'reportingComponent'));
  return [
    ageOf(last, now),
    text(event, 'type'),
    text(event, 'reason'),
    `${str(object['kind']).toLowerCase()}/${str(object['name'])}`,
    str(object['fieldPath']),
    source,
    text(event, 'message').trim(),
    ageOf(first, now),
    count(event, ['count'], 1),
    event.metadata.name ?? '',
  ];
}

function nodeCells(node: KubeObject): readonly Json[] {
  const ready = conditionStatus(node, 'Ready');
  const status = ready === undefined ? 'Unknown' : ready === 'True' ? 'Ready' : 'NotReady';
  const roles = Object.keys(node.metadata.labels ?? {})
    .filter((label) => label.startsWith('node-role.kubernetes.io/'))
    .map((label) => label.slice('node-role.kubernetes.io/'.length));
  const address = (type: string): string =>
    str(items(node, 'status', 'addresses').find((one) => one['type'] === type)?.['address']) || '<none>';
  const fact = (name: string): string => textCell(node, ['status', 'nodeInfo', name], '<unknown>');
  return [
    field(node, 'spec', 'unschedulable') === true ? `${status},SchedulingDisabled` : status,
    joined(roles.sort()),
    textCell(node, ['status', 'nodeInfo', 'kubeletVersion'], ''),
    address('InternalIP'),
    address('ExternalIP'),
    fact('osImage'),
    fact('kernelVersion'),
    fact('containerRuntimeVersion'),
  ];
}

function phase(object: KubeObject): string {
  return object.metadata.deletionTimestamp === undefined ? text(object, 'status', 'phase') : 'Terminating';
}

const modes: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};

function accessModes(value: Json | undefined): string {
  return Array.isArray(value) ? (value as readonly Json[]).map((mode) => modes[str(mode)] ?? str(mode)).join(',') : '';
}

function claim(volume: KubeObject): string {
  const reference = field(volume, 'spec', 'claimRef');
  return isObject(reference) ? `${str(reference['namespace'])}/${str(reference['name'])}` : '';
}

function quota(object: KubeObject, limits: boolean): string {
  const hard = field(object, 'status', 'hard') ?? field(object, 'spec', 'hard');
  if (!isObject(hard)) return '';
  return Object.keys(hard)
    .filter((name) => name.startsWith('limits') === limits)
    .sort()
    .map((name) => `${name}: ${textCell(object, ['status', 'used', name], '0')}/${str(hard[name])}`)
    .join(', ');
}

function subjects(object: KubeObject, kind: string): readonly string[] {
  return items(object, 'subjects')
    .filter((subject) => subject['kind'] === kind)
    .map((subject) => (kind === 'ServiceAccount' ? `${str(subject['namespace'])}/` : '') + str(subject['name']));
}

/** Metrics as `cpu: <unknown>/80%`. */
function targets(hpa: KubeObject): string {
  const current = itemsOf(field(hpa, 'status', 'currentMetrics'));
  const texts = items(hpa, 'spec', 'metrics').map((metric) => {
    const name = str(at(metric, 'resource', 'name'));
    const wanted = at(metric, 'resource', 'target', 'averageUtilization');
    const now = current.find((one) => at(one, 'resource', 'name') === name);
    const used = now === undefined ? undefined : at(now, 'resource', 'current', 'averageUtilization');
    if (typeof wanted !== 'number')
      return `<unknown>/${str(at(metric, 'resource', 'target', 'averageValue')) || '<unknown>'}`;
    return `${name}: ${typeof used === 'number' ? `${used}%` : '<unknown>'}/${wanted}%`;
  });
  return texts.length === 0 ? '<unknown>' : texts.join(', ');
}
