import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import { ageOf } from './duration-text.ts';
import { numberAt, fieldAt, itemsAt, stringOrEmpty, stringAt } from '../fields.ts';
import { conditionStatus, joinedOrNone, selectorCell, sizeCell, textCell } from './printer.ts';
import type { KindPrinter } from './printer.ts';

/** Kinds of the demo beside workloads. Kinds without a printer have a name and an age. */
export const clusterPrinters: Readonly<Record<string, KindPrinter>> = {
  '/ConfigMap': {
    columns: 'Name | Data | Age',
    cells: (object) => [sizeCell(object, 'data') + sizeCell(object, 'binaryData')],
  },
  '/Secret': {
    columns: 'Name | Type | Data | Age',
    cells: (object) => [stringAt(object, 'type'), sizeCell(object, 'data')],
  },
  '/Service': {
    columns: 'Name | Type | Cluster-IP | External-IP | Port(s) | Age | Selector*',
    cells: (object) => [
      stringAt(object, 'spec', 'type'),
      textCell(object, ['spec', 'clusterIP']),
      externalIp(object),
      servicePorts(object),
      selectorCell(fieldAt(object, 'spec', 'selector')),
    ],
  },
  '/Namespace': { columns: 'Name | Status | Age', cells: (object) => [stringAt(object, 'status', 'phase')] },
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

function balancerAddresses(object: KubeObject): string {
  const entries = itemsAt(object, 'status', 'loadBalancer', 'ingress');
  return entries.map((entry) => stringOrEmpty(entry['ip']) || stringOrEmpty(entry['hostname'])).join(',');
}

function externalIp(service: KubeObject): string {
  const external = fieldAt(service, 'spec', 'externalIPs');
  const own = Array.isArray(external) ? external.map(stringOrEmpty) : [];
  switch (stringAt(service, 'spec', 'type')) {
    case 'ExternalName':
      return stringAt(service, 'spec', 'externalName');
    case 'LoadBalancer': {
      const given = balancerAddresses(service);
      const all = [...(given === '' ? [] : [given]), ...own];
      return all.length === 0 ? '<pending>' : all.join(',');
    }
    default:
      return joinedOrNone(own);
  }
}

function servicePorts(service: KubeObject): string {
  return joinedOrNone(
    itemsAt(service, 'spec', 'ports').map((port) => {
      const node = port['nodePort'] === undefined ? '' : `:${Number(port['nodePort'])}`;
      return `${Number(port['port'] ?? 0)}${node}/${stringOrEmpty(port['protocol']) || 'TCP'}`;
    }),
  );
}
