import { describe, expect, it } from '@jest/globals';
import { annotations, defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { diffObjects } from '../comparison/diff.ts';
import type { DiffRules } from '../ignore/diff-rules.ts';
import { managedEntry } from '../testing/managed-entry.ts';

const rules: DiffRules = { settings: defaultSettings, ignoreDifferences: [] };
const replaced: DiffRules = { ...rules, replace: true };
const generation = 'deprecated.daemonset.template.generation';
const kube = (object: object): KubeObject => object as KubeObject;

/** An object that we replaced: our entry owns `fields` too, which only the server sets. */
function stored(object: KubeObject, fields: object): KubeObject {
  const managedFields = [managedEntry('driftless', 'Update', fields, { apiVersion: object.apiVersion })];
  return kube({ ...object, metadata: { ...object.metadata, managedFields } });
}

const template = { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'a', image: 'a:1' }] } };
const workload = (kind: string, spec: object, annotations?: object): KubeObject =>
  kube({
    apiVersion: 'apps/v1',
    kind,
    metadata: { name: 'a', namespace: 'x', ...(annotations === undefined ? {} : { annotations }) },
    spec: { selector: { matchLabels: { app: 'a' } }, template, ...spec },
  });

describe('what the API server adds to a replaced object is no removal', () => {
  it('the template generation of a DaemonSet', () => {
    const owned = { 'f:metadata': { 'f:annotations': { '.': {}, [`f:${generation}`]: {}, 'f:note': {} } } };
    const live = stored(workload('DaemonSet', {}, { [generation]: '3' }), owned);
    expect(diffObjects(workload('DaemonSet', {}), live, replaced)).toMatchObject({ modified: false, paths: [] });
    const noted = stored(workload('DaemonSet', {}, { [generation]: '3', note: 'x' }), owned);
    expect(diffObjects(workload('DaemonSet', {}), noted, replaced).modified).toBe(true);
  });

  it('maxUnavailable of a StatefulSet, unless Git has dropped another number', () => {
    const owned = { 'f:spec': { 'f:updateStrategy': { 'f:type': {}, 'f:rollingUpdate': { 'f:maxUnavailable': {} } } } };
    const live = (maxUnavailable: number): KubeObject => {
      const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition: 0, maxUnavailable } };
      return stored(workload('StatefulSet', { updateStrategy }), owned);
    };
    const target = workload('StatefulSet', { updateStrategy: {} });
    expect(diffObjects(target, live(1), replaced)).toMatchObject({ modified: false, paths: [] });
    expect(diffObjects(target, live(2), replaced).paths).toEqual(['/spec/updateStrategy/rollingUpdate/maxUnavailable']);
  });

  it('basic of a device in resource.k8s.io/v1beta1', () => {
    const slice = (device: object): KubeObject =>
      kube({
        apiVersion: 'resource.k8s.io/v1beta1',
        kind: 'ResourceSlice',
        metadata: { name: 'a' },
        spec: { devices: [device] },
      });
    const live = stored(slice({ name: 'one', basic: {} }), { 'f:spec': { 'f:devices': {} } });
    expect(diffObjects(slice({ name: 'one' }), live, replaced)).toMatchObject({ modified: false, paths: [] });
    const held = stored(slice({ name: 'one', basic: { nodeName: 'n' } }), { 'f:spec': { 'f:devices': {} } });
    expect(diffObjects(slice({ name: 'one' }), held, replaced).modified).toBe(true);
  });

  it('the last-applied annotation of the client-side apply before', () => {
    const target = workload('Deployment', {});
    const owned = { 'f:metadata': { 'f:annotations': { '.': {}, [`f:${annotations.lastApplied}`]: {} } } };
    const live = stored(workload('Deployment', {}, { [annotations.lastApplied]: JSON.stringify(target) }), owned);
    expect(diffObjects(target, live, replaced)).toMatchObject({ modified: false, paths: [] });
  });

  it('the address ranges of a Node that differ from the first one', () => {
    const node = (podCIDR: string, ...podCIDRs: string[]): KubeObject =>
      kube({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' }, spec: { podCIDR, podCIDRs } });
    const owned = { 'f:spec': { 'f:podCIDRs': { '.': {}, 'v:"10.1.0.0/24"': {} } } };
    const live = stored(node('10.1.0.0/24', '10.1.0.0/24'), owned);
    for (const how of [rules, replaced])
      expect(diffObjects(node('10.1.0.0/24', '10.2.0.0/24'), live, how)).toMatchObject({ modified: false, paths: [] });
    expect(diffObjects(node('10.2.0.0/24', '10.2.0.0/24'), live, rules).modified).toBe(true);
  });

  it('the finalizers in the spec of a Namespace, which only its finalize subresource changes', () => {
    const space = (...finalizers: string[]): KubeObject =>
      kube({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a' }, spec: { finalizers } });
    const live = stored(space('kubernetes', 'x.io/a'), { 'f:spec': { 'f:finalizers': {} } });
    for (const how of [rules, replaced, { ...rules, serverSideApply: true }])
      for (const target of [space('x.io/a', 'kubernetes'), space('kubernetes'), space()])
        expect(diffObjects(target, live, how).modified).toBe(false);
  });
});
