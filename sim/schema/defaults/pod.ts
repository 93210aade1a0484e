import type { MutableJsonObject } from '#base';
import { objectChild, objectChildren, childOrNew, fillMissing, fillZeroValue } from './fill.ts';

/** Defaults of a pod spec, in pods and in templates (pkg/apis/core/v1/defaults.go). */
export function defaultPodSpec(spec: MutableJsonObject): void {
  fillZeroValue(spec, 'restartPolicy', 'Always');
  fillMissing(spec, 'terminationGracePeriodSeconds', 30);
  fillZeroValue(spec, 'dnsPolicy', 'ClusterFirst');
  fillMissing(spec, 'securityContext', {});
  fillZeroValue(spec, 'schedulerName', 'default-scheduler');
  mirrorServiceAccount(spec);
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'])
    for (const container of objectChildren(spec, list)) defaultContainer(container);
  for (const volume of objectChildren(spec, 'volumes')) defaultVolume(volume);
}

/** Defaults of Pods that pod templates lack. */
export function defaultPod(spec: MutableJsonObject): void {
  fillMissing(spec, 'enableServiceLinks', true);
  for (const list of ['initContainers', 'containers'])
    for (const container of objectChildren(spec, list)) {
      requestsFromLimits(container);
      if (spec['hostNetwork'] === true) portsOfHost(container);
    }
}

function portsOfHost(container: MutableJsonObject): void {
  for (const port of objectChildren(container, 'ports'))
    if (port['containerPort'] !== undefined) fillZeroValue(port, 'hostPort', port['containerPort']);
}

export function defaultPodTemplate(holder: MutableJsonObject | undefined): void {
  const template = objectChild(holder, 'template');
  if (template !== undefined) defaultPodSpec(childOrNew(template, 'spec'));
}

/** Keeps the old and the new name of the field in sync. */
function mirrorServiceAccount(spec: MutableJsonObject): void {
  const name = [spec['serviceAccountName'], spec['serviceAccount']].find(
    (value) => value !== undefined && value !== null && value !== '',
  );
  if (name === undefined) return;
  spec['serviceAccountName'] = name;
  spec['serviceAccount'] = name;
}

function requestsFromLimits(container: MutableJsonObject): void {
  const limits = objectChild(objectChild(container, 'resources'), 'limits');
  if (limits === undefined) return;
  const requests = childOrNew(childOrNew(container, 'resources'), 'requests');
  for (const [name, amount] of Object.entries(limits)) if (amount !== undefined) fillMissing(requests, name, amount);
}

function defaultContainer(container: MutableJsonObject): void {
  const image = container['image'];
  fillZeroValue(container, 'imagePullPolicy', pullPolicy(typeof image === 'string' ? image : ''));
  fillZeroValue(container, 'terminationMessagePath', '/dev/termination-log');
  fillZeroValue(container, 'terminationMessagePolicy', 'File');
  for (const port of objectChildren(container, 'ports')) fillZeroValue(port, 'protocol', 'TCP');
  for (const variable of objectChildren(container, 'env')) {
    const source = objectChild(variable, 'valueFrom');
    const field = objectChild(source, 'fieldRef');
    if (field !== undefined) fillZeroValue(field, 'apiVersion', 'v1');
  }
  for (const name of ['livenessProbe', 'readinessProbe', 'startupProbe']) defaultProbe(objectChild(container, name));
  const lifecycle = objectChild(container, 'lifecycle');
  for (const name of ['postStart', 'preStop']) defaultHttpGet(objectChild(objectChild(lifecycle, name), 'httpGet'));
}

/** The tag `latest`, explicit or implied, is always pulled. */
export function pullPolicy(image: string): string {
  if (image.includes('@')) return 'IfNotPresent';
  const name = image.slice(image.lastIndexOf('/') + 1);
  const colon = name.indexOf(':');
  return colon < 0 || name.slice(colon + 1) === 'latest' ? 'Always' : 'IfNotPresent';
}

function defaultProbe(probe: MutableJsonObject | undefined): void {
  if (probe === undefined) return;
  fillZeroValue(probe, 'timeoutSeconds', 1);
  fillZeroValue(probe, 'periodSeconds', 10);
  fillZeroValue(probe, 'successThreshold', 1);
  fillZeroValue(probe, 'failureThreshold', 3);
  defaultHttpGet(objectChild(probe, 'httpGet'));
  const grpc = objectChild(probe, 'grpc');
  if (grpc !== undefined) fillMissing(grpc, 'service', '');
}

function defaultHttpGet(action: MutableJsonObject | undefined): void {
  if (action === undefined) return;
  fillZeroValue(action, 'path', '/');
  fillZeroValue(action, 'scheme', 'HTTP');
}

function defaultVolume(volume: MutableJsonObject): void {
  // A volume without a source is an emptyDir.
  if (Object.keys(volume).every((key) => key === 'name')) volume['emptyDir'] = {};
  for (const name of ['secret', 'configMap', 'downwardAPI', 'projected']) {
    const source = objectChild(volume, name);
    if (source !== undefined) fillMissing(source, 'defaultMode', 0o644);
  }
  for (const item of objectChildren(objectChild(volume, 'downwardAPI'), 'items')) defaultFieldRef(item);
  for (const source of objectChildren(objectChild(volume, 'projected'), 'sources')) {
    for (const item of objectChildren(objectChild(source, 'downwardAPI'), 'items')) defaultFieldRef(item);
    const token = objectChild(source, 'serviceAccountToken');
    if (token !== undefined) fillMissing(token, 'expirationSeconds', 3600);
  }
  const claim = objectChild(objectChild(objectChild(volume, 'ephemeral'), 'volumeClaimTemplate'), 'spec');
  if (claim !== undefined) fillMissing(claim, 'volumeMode', 'Filesystem');
  defaultVolumeSource(volume);
}

function defaultFieldRef(item: MutableJsonObject): void {
  const field = objectChild(item, 'fieldRef');
  if (field !== undefined) fillZeroValue(field, 'apiVersion', 'v1');
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
    const source = objectChild(holder, name);
    if (source === undefined) continue;
    for (const [key, value] of Object.entries(values)) fillMissing(source, key, value);
  }
}
