import type { MutableJsonObject } from '#base';
import { child, children, childOrNew, fill, fillZero } from './fill.ts';

/** Defaults of a pod spec, in pods and in templates alike (pkg/apis/core/v1/defaults.go). */
export function defaultPodSpec(spec: MutableJsonObject): void {
  fillZero(spec, 'restartPolicy', 'Always');
  fill(spec, 'terminationGracePeriodSeconds', 30);
  fillZero(spec, 'dnsPolicy', 'ClusterFirst');
  fill(spec, 'securityContext', {});
  fillZero(spec, 'schedulerName', 'default-scheduler');
  mirrorServiceAccount(spec);
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'])
    for (const container of children(spec, list)) defaultContainer(container, spec['hostNetwork'] === true);
  for (const volume of children(spec, 'volumes')) defaultVolume(volume);
}

/** Defaults that a Pod has and a pod template has not. */
export function defaultPod(spec: MutableJsonObject): void {
  fill(spec, 'enableServiceLinks', true);
  for (const list of ['initContainers', 'containers'])
    for (const container of children(spec, list)) requestsFromLimits(container);
}

export function defaultPodTemplate(holder: MutableJsonObject | undefined): void {
  const template = child(holder, 'template');
  if (template !== undefined) defaultPodSpec(childOrNew(template, 'spec'));
}

/** The old and the new name of the same field always agree. */
function mirrorServiceAccount(spec: MutableJsonObject): void {
  const name = spec['serviceAccountName'] ?? spec['serviceAccount'];
  if (name === undefined || name === null || name === '') return;
  spec['serviceAccountName'] = name;
  spec['serviceAccount'] = name;
}

function requestsFromLimits(container: MutableJsonObject): void {
  const limits = child(child(container, 'resources'), 'limits');
  if (limits === undefined) return;
  const requests = childOrNew(childOrNew(container, 'resources'), 'requests');
  for (const [name, amount] of Object.entries(limits)) if (amount !== undefined) fill(requests, name, amount);
}

function defaultContainer(container: MutableJsonObject, hostNetwork: boolean): void {
  const image = container['image'];
  fillZero(container, 'imagePullPolicy', pullPolicy(typeof image === 'string' ? image : ''));
  fillZero(container, 'terminationMessagePath', '/dev/termination-log');
  fillZero(container, 'terminationMessagePolicy', 'File');
  for (const port of children(container, 'ports')) {
    fillZero(port, 'protocol', 'TCP');
    if (hostNetwork && port['containerPort'] !== undefined) fillZero(port, 'hostPort', port['containerPort']);
  }
  for (const variable of children(container, 'env')) {
    const source = child(variable, 'valueFrom');
    const field = child(source, 'fieldRef');
    if (field !== undefined) fillZero(field, 'apiVersion', 'v1');
  }
  for (const name of ['livenessProbe', 'readinessProbe', 'startupProbe']) defaultProbe(child(container, name));
  const lifecycle = child(container, 'lifecycle');
  for (const name of ['postStart', 'preStop']) defaultHttpGet(child(child(lifecycle, name), 'httpGet'));
}

/** `latest`, said or meant, is always pulled. */
export function pullPolicy(image: string): string {
  if (image.includes('@')) return 'IfNotPresent';
  const name = image.slice(image.lastIndexOf('/') + 1);
  const colon = name.indexOf(':');
  return colon < 0 || name.slice(colon + 1) === 'latest' ? 'Always' : 'IfNotPresent';
}

function defaultProbe(probe: MutableJsonObject | undefined): void {
  if (probe === undefined) return;
  fillZero(probe, 'timeoutSeconds', 1);
  fillZero(probe, 'periodSeconds', 10);
  fillZero(probe, 'successThreshold', 1);
  fillZero(probe, 'failureThreshold', 3);
  defaultHttpGet(child(probe, 'httpGet'));
  const grpc = child(probe, 'grpc');
  if (grpc !== undefined) fill(grpc, 'service', '');
}

function defaultHttpGet(action: MutableJsonObject | undefined): void {
  if (action === undefined) return;
  fillZero(action, 'path', '/');
  fillZero(action, 'scheme', 'HTTP');
}

function defaultVolume(volume: MutableJsonObject): void {
  // A volume without a source is an empty directory.
  if (Object.keys(volume).every((key) => key === 'name')) volume['emptyDir'] = {};
  for (const name of ['secret', 'configMap', 'downwardAPI', 'projected']) {
    const source = child(volume, name);
    if (source !== undefined) fill(source, 'defaultMode', 0o644);
  }
  for (const item of children(child(volume, 'downwardAPI'), 'items')) defaultFieldRef(item);
  for (const source of children(child(volume, 'projected'), 'sources')) {
    for (const item of children(child(source, 'downwardAPI'), 'items')) defaultFieldRef(item);
    const token = child(source, 'serviceAccountToken');
    if (token !== undefined) fill(token, 'expirationSeconds', 3600);
  }
  const claim = child(child(child(volume, 'ephemeral'), 'volumeClaimTemplate'), 'spec');
  if (claim !== undefined) fill(claim, 'volumeMode', 'Filesystem');
  defaultVolumeSource(volume);
}

function defaultFieldRef(item: MutableJsonObject): void {
  const field = child(item, 'fieldRef');
  if (field !== undefined) fillZero(field, 'apiVersion', 'v1');
}

const sourceDefaults: Readonly<Record<string, Readonly<Record<string, string | boolean>>>> = {
  hostPath: { type: '' },
  iscsi: { iscsiInterface: 'default' },
  rbd: { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' },
  azureDisk: { cachingMode: 'ReadWrite', kind: 'Shared', fsType: 'ext4', readOnly: false },
  scaleIO: { storageMode: 'ThinProvisioned', fsType: 'xfs' },
};

/** Defaults of the sources that volumes and PersistentVolumes share. */
export function defaultVolumeSource(holder: MutableJsonObject): void {
  for (const [name, values] of Object.entries(sourceDefaults)) {
    const source = child(holder, name);
    if (source === undefined) continue;
    for (const [key, value] of Object.entries(values)) fill(source, key, value);
  }
}
