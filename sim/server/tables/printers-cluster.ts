import { valueAt, isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import { ageOf } from './duration-text.ts';
import { numberAt, fieldAt, itemsAt, objectItemsOf, stringOrEmpty, stringAt } from '../fields.ts';
import { conditionStatus, joinedOrNone, sizeCell, textCell } from './printer.ts';
import type { KindPrinter } from './printer.ts';

const createdAtPrinter: KindPrinter = {
  columns: 'Name | Created At:date',
  cells: (object) => [object.metadata.creationTimestamp ?? ''],
};
const bindingPrinter: KindPrinter = {
  columns: 'Name | Role | Age | Users* | Groups* | ServiceAccounts*',
  cells: (object) => [
    `${stringAt(object, 'roleRef', 'kind')}/${stringAt(object, 'roleRef', 'name')}`,
    subjectNames(object, 'User').join(', '),
    subjectNames(object, 'Group').join(', '),
    subjectNames(object, 'ServiceAccount').join(', '),
  ],
};
const webhooksPrinter: KindPrinter = {
  columns: 'Name | Webhooks | Age',
  cells: (object) => [itemsAt(object, 'webhooks').length],
};

/** Configuration, cluster, storage and policy kinds. */
export const clusterPrinters: Readonly<Record<string, KindPrinter>> = {
  '/ConfigMap': {
    columns: 'Name | Data | Age',
    cells: (object) => [sizeCell(object, 'data') + sizeCell(object, 'binaryData')],
  },
  '/Secret': {
    columns: 'Name | Type | Data | Age',
    cells: (object) => [stringAt(object, 'type'), sizeCell(object, 'data')],
  },
  '/Namespace': { columns: 'Name | Status | Age', cells: (object) => [stringAt(object, 'status', 'phase')] },
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
      accessModes(fieldAt(object, 'spec', 'accessModes')),
      stringAt(object, 'spec', 'persistentVolumeReclaimPolicy'),
      phaseCell(object),
      claimCell(object),
      stringAt(object, 'spec', 'storageClassName'),
      textCell(object, ['spec', 'volumeAttributesClassName'], '<unset>'),
      stringAt(object, 'status', 'reason'),
      textCell(object, ['spec', 'volumeMode'], '<unset>'),
    ],
  },
  '/PersistentVolumeClaim': {
    columns:
      'Name | Status | Volume | Capacity | Access Modes | StorageClass | VolumeAttributesClass | Age | VolumeMode*',
    cells: (object) => [
      phaseCell(object),
      stringAt(object, 'spec', 'volumeName'),
      textCell(object, ['status', 'capacity', 'storage'], ''),
      accessModes(fieldAt(object, 'status', 'accessModes')),
      stringAt(object, 'spec', 'storageClassName'),
      textCell(object, ['spec', 'volumeAttributesClassName'], '<unset>'),
      textCell(object, ['spec', 'volumeMode'], '<unset>'),
    ],
  },
  '/ResourceQuota': {
    columns: 'Name | Request | Limit | Age',
    cells: (object) => [quotaCell(object, false), quotaCell(object, true)],
  },
  '/LimitRange': createdAtPrinter,
  'rbac.authorization.k8s.io/Role': createdAtPrinter,
  'rbac.authorization.k8s.io/ClusterRole': createdAtPrinter,
  'rbac.authorization.k8s.io/RoleBinding': bindingPrinter,
  'rbac.authorization.k8s.io/ClusterRoleBinding': bindingPrinter,
  'apiextensions.k8s.io/CustomResourceDefinition': createdAtPrinter,
  'apiregistration.k8s.io/APIService': {
    columns: 'Name | Service | Available | Age',
    cells: (object) => [
      fieldAt(object, 'spec', 'service') === undefined
        ? 'Local'
        : `${stringAt(object, 'spec', 'service', 'namespace')}/${stringAt(object, 'spec', 'service', 'name')}`,
      conditionStatus(object, 'Available') ?? 'Unknown',
    ],
  },
  'admissionregistration.k8s.io/MutatingWebhookConfiguration': webhooksPrinter,
  'admissionregistration.k8s.io/ValidatingWebhookConfiguration': webhooksPrinter,
  'autoscaling/HorizontalPodAutoscaler': {
    columns: 'Name | Reference | Targets | MinPods | MaxPods | Replicas | Age',
    cells: (object) => [
      `${stringAt(object, 'spec', 'scaleTargetRef', 'kind')}/${stringAt(object, 'spec', 'scaleTargetRef', 'name')}`,
      targetsCell(object),
      textCell(object, ['spec', 'minReplicas'], '<unset>'),
      numberAt(object, ['spec', 'maxReplicas']),
      numberAt(object, ['status', 'currentReplicas']),
    ],
  },
  'coordination.k8s.io/Lease': {
    columns: 'Name | Holder | Age',
    cells: (object) => [stringAt(object, 'spec', 'holderIdentity')],
  },
  'policy/PodDisruptionBudget': {
    columns: 'Name | Min Available | Max Unavailable | Allowed Disruptions:integer | Age',
    cells: (object) => [
      textCell(object, ['spec', 'minAvailable'], 'N/A'),
      textCell(object, ['spec', 'maxUnavailable'], 'N/A'),
      numberAt(object, ['status', 'disruptionsAllowed']),
    ],
  },
  'scheduling.k8s.io/PriorityClass': {
    columns: 'Name | Value | Global-Default | Age | PreemptionPolicy',
    cells: (object) => [
      numberAt(object, ['value']),
      fieldAt(object, 'globalDefault') === true,
      textCell(object, ['preemptionPolicy'], 'PreemptLowerPriority'),
    ],
  },
  'storage.k8s.io/StorageClass': {
    columns: 'Name | Provisioner | ReclaimPolicy | VolumeBindingMode | AllowVolumeExpansion | Age',
    cells: (object) => [
      stringAt(object, 'provisioner'),
      textCell(object, ['reclaimPolicy'], 'Delete'),
      textCell(object, ['volumeBindingMode'], 'Immediate'),
      fieldAt(object, 'allowVolumeExpansion') === true,
    ],
  },
};

function eventCells(event: KubeObject, now: number): readonly Json[] {
  const first = fieldAt(event, 'firstTimestamp') ?? fieldAt(event, 'eventTime');
  const last = fieldAt(event, 'lastTimestamp') ?? first;
  const object = (fieldAt(event, 'involvedObject') ?? {}) as JsonObject;
  const source = joinedOrNone(
    [stringAt(event, 'source', 'component'), stringAt(event, 'source', 'host')].filter((part) => part !== ''),
  ).replace('<none>', stringAt(event, 'reportingComponent'));
  return [
    ageOf(last, now),
    stringAt(event, 'type'),
    stringAt(event, 'reason'),
    `${stringOrEmpty(object['kind']).toLowerCase()}/${stringOrEmpty(object['name'])}`,
    stringOrEmpty(object['fieldPath']),
    source,
    stringAt(event, 'message').trim(),
    ageOf(first, now),
    numberAt(event, ['count'], 1),
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
    stringOrEmpty(itemsAt(node, 'status', 'addresses').find((one) => one['type'] === type)?.['address']) || '<none>';
  const fact = (name: string): string => textCell(node, ['status', 'nodeInfo', name], '<unknown>');
  return [
    fieldAt(node, 'spec', 'unschedulable') === true ? `${status},SchedulingDisabled` : status,
    joinedOrNone(roles.sort()),
    textCell(node, ['status', 'nodeInfo', 'kubeletVersion'], ''),
    address('InternalIP'),
    address('ExternalIP'),
    fact('osImage'),
    fact('kernelVersion'),
    fact('containerRuntimeVersion'),
  ];
}

function phaseCell(object: KubeObject): string {
  return object.metadata.deletionTimestamp === undefined ? stringAt(object, 'status', 'phase') : 'Terminating';
}

const accessModeTexts: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};

function accessModes(value: Json | undefined): string {
  return Array.isArray(value)
    ? (value as readonly Json[]).map((mode) => accessModeTexts[stringOrEmpty(mode)] ?? stringOrEmpty(mode)).join(',')
    : '';
}

function claimCell(volume: KubeObject): string {
  const reference = fieldAt(volume, 'spec', 'claimRef');
  return isObject(reference) ? `${stringOrEmpty(reference['namespace'])}/${stringOrEmpty(reference['name'])}` : '';
}

function quotaCell(object: KubeObject, limits: boolean): string {
  const hard = fieldAt(object, 'status', 'hard') ?? fieldAt(object, 'spec', 'hard');
  if (!isObject(hard)) return '';
  return Object.keys(hard)
    .filter((name) => name.startsWith('limits') === limits)
    .sort()
    .map((name) => `${name}: ${textCell(object, ['status', 'used', name], '0')}/${stringOrEmpty(hard[name])}`)
    .join(', ');
}

function subjectNames(object: KubeObject, kind: string): readonly string[] {
  return itemsAt(object, 'subjects')
    .filter((subject) => subject['kind'] === kind)
    .map(
      (subject) =>
        (kind === 'ServiceAccount' ? `${stringOrEmpty(subject['namespace'])}/` : '') + stringOrEmpty(subject['name']),
    );
}

/** Metrics as `cpu: <unknown>/80%`. */
function targetsCell(hpa: KubeObject): string {
  const current = objectItemsOf(fieldAt(hpa, 'status', 'currentMetrics'));
  const texts = itemsAt(hpa, 'spec', 'metrics').map((metric) => {
    const name = stringOrEmpty(valueAt(metric, 'resource', 'name'));
    const wanted = valueAt(metric, 'resource', 'target', 'averageUtilization');
    const now = current.find((one) => valueAt(one, 'resource', 'name') === name);
    const used = now === undefined ? undefined : valueAt(now, 'resource', 'current', 'averageUtilization');
    if (typeof wanted !== 'number')
      return `<unknown>/${stringOrEmpty(valueAt(metric, 'resource', 'target', 'averageValue')) || '<unknown>'}`;
    return `${name}: ${typeof used === 'number' ? `${used}%` : '<unknown>'}/${wanted}%`;
  });
  return texts.length === 0 ? '<unknown>' : texts.join(', ');
}
