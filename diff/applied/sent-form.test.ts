import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '#base';
import { defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { diffObjects } from '../comparison/diff.ts';
import type { DiffRules } from '../ignore/diff-rules.ts';
import { withLastApplied } from '../patch/last-applied.ts';
import { managedEntry } from '../testing/managed-entry.ts';
import { clientSideApplyPatch } from './client-side-apply.ts';
import { serverSideTarget } from './server-side-target.ts';

const rules: DiffRules = { settings: defaultSettings, ignoreDifferences: [] };
const serverSide: DiffRules = { ...rules, serverSideApply: true };

function networkPolicy(spec: object, managedFields: readonly JsonObject[] = []): KubeObject {
  const metadata = { name: 'a', namespace: 'x', ...(managedFields.length === 0 ? {} : { managedFields }) };
  return { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata, spec };
}

const fields = (...names: string[]): object => ({
  'f:spec': Object.fromEntries(names.map((name) => [`f:${name}`, {}])),
});
const entry = (manager: string, operation: string, ...names: string[]): JsonObject =>
  managedEntry(manager, operation, fields(...names), { apiVersion: 'networking.k8s.io/v1' });

describe('policyTypes of a NetworkPolicy whose manifest has none', () => {
  const bare = networkPolicy({ podSelector: {} });
  const withEgress = networkPolicy({ podSelector: {}, egress: [{}] });
  const both = ['Ingress', 'Egress'];
  const ours = entry('argocd-controller', 'Update', 'podSelector', 'policyTypes', 'egress');

  it.each([
    ['egress rules that Git adds are enforced', withEgress, ['Ingress'], both],
    ['egress rules that Git drops deny nothing any more', bare, both, ['Ingress']],
    ['an empty list of types is none', networkPolicy({ podSelector: {}, policyTypes: [] }), both, ['Ingress']],
  ])('follow the rules: %s', (_title, target, policyTypes, wanted) => {
    const live = networkPolicy({ podSelector: {}, policyTypes }, [ours]);
    for (const how of [rules, serverSide]) expect(diffObjects(target, live, how).paths).toContain('/spec/policyTypes');
    expect(clientSideApplyPatch(target, live)?.body['spec']).toMatchObject({ policyTypes: wanted });
    expect(serverSideTarget(target, live)).toMatchObject({ spec: { policyTypes: wanted } });
  });

  it.each([
    ['live has them', bare, ['Ingress'], [ours]],
    ['a person edited them', bare, both, [entry('kubectl-edit', 'Update', 'policyTypes')]],
    ['another manager applied them', bare, both, [entry('team', 'Apply', 'policyTypes')]],
    ['egress rules of another manager stay', bare, both, [entry('helm', 'Update', 'podSelector', 'egress')]],
  ])('are left alone: %s', (_title, target, policyTypes, managedFields) => {
    const live = networkPolicy({ podSelector: {}, policyTypes }, managedFields);
    expect(diffObjects(target, live, serverSide).paths).toEqual([]);
    expect(JSON.stringify(clientSideApplyPatch(target, live)?.body['spec'] ?? {})).not.toContain('policyTypes');
    expect(serverSideTarget(target, live)).toEqual(target);
  });

  it.each([
    ['by its selector', entry('helm', 'Update', 'podSelector', 'policyTypes')],
    [
      'by its metadata',
      { ...entry('helm', 'Update', 'policyTypes'), fieldsV1: { 'f:metadata': {}, ...fields('policyTypes') } },
    ],
    ['as kubectl apply', entry('kubectl-client-side-apply', 'Update', 'policyTypes')],
  ])('follow the rules of a policy that another tool created: %s', (_title, creator) => {
    const live = networkPolicy({ podSelector: {}, policyTypes: both }, [creator]);
    expect(serverSideTarget(bare, live)).toMatchObject({ spec: { policyTypes: ['Ingress'] } });
  });

  it('are not in last-applied, as Git has none', () => {
    const live = networkPolicy({ podSelector: {}, policyTypes: ['Ingress'] }, [ours]);
    const note = JSON.stringify(clientSideApplyPatch(withEgress, live)?.body['metadata']);
    expect(note).toContain('egress');
    expect(note).not.toContain('policyTypes');
  });
});

describe('an empty value that the API server allocates for a Service', () => {
  const service = (spec: object): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'a', namespace: 'x' },
    spec: { ports: [{ port: 80 }], ...spec },
  });

  it('leaves the allocated addresses and families', () => {
    const live = service({ clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], ipFamilies: ['IPv4'], type: 'ClusterIP' });
    for (const target of [
      service({ clusterIPs: [], ipFamilies: [] }),
      service({ clusterIP: null, clusterIPs: null, ipFamilies: null, ipFamilyPolicy: null, healthCheckNodePort: null }),
    ])
      for (const how of [rules, serverSide]) expect(diffObjects(target, live, how).paths).toEqual([]);
  });

  it('leaves the allocated node ports, and changes those of the manifest', () => {
    const ports = (...list: readonly (number | null | undefined)[]): KubeObject =>
      service({ type: 'NodePort', ports: list.map((nodePort, i) => ({ name: `p${i}`, port: 80 + i, nodePort })) });
    const live = ports(30_001, 30_002);
    for (const how of [rules, serverSide]) {
      expect(diffObjects(ports(null, 30_002), live, how).paths).toEqual([]);
      expect(diffObjects(ports(null, 30_003), live, how).paths).toEqual(['/spec/ports/1/nodePort']);
    }
    // Null was in the manifest before, too.
    const { annotations = {} } = withLastApplied(ports(null, 30_002)).metadata;
    const noted = { ...live, metadata: { ...live.metadata, annotations } };
    expect(diffObjects(ports(null, 30_002), noted, rules).paths).toEqual([]);
    expect(JSON.stringify(clientSideApplyPatch(ports(null, 30_002), noted) ?? {})).not.toContain('nodePort":null');
  });
});

describe('the claim that a PersistentVolume is bound to', () => {
  const volume = (claimRef: JsonObject, ...managedFields: JsonObject[]): KubeObject => ({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'a', ...(managedFields.length === 0 ? {} : { managedFields }) },
    spec: { claimRef },
  });
  const wanted = { namespace: 'x', name: 'claim' };
  const bound = { ...wanted, kind: 'PersistentVolumeClaim', apiVersion: 'v1', uid: 'u', resourceVersion: '7' };
  const entries = [
    managedEntry('argocd-controller', 'Apply', fields('capacity')),
    managedEntry('kube-controller-manager', 'Update', fields('claimRef')),
  ];

  it.each([rules, serverSide])('keeps what its controller added (%#)', (how) => {
    expect(diffObjects(volume(wanted), volume(bound, ...entries), how).paths).toEqual([]);
    expect(serverSideTarget(volume(wanted), volume(bound, ...entries))['spec']).toEqual({ claimRef: bound });
  });

  it('loses what we alone have applied, and Git drops', () => {
    const spec = { 'f:spec': { 'f:claimRef': { 'f:uid': {} } } };
    const claimed = volume({ ...wanted, uid: 'u' });
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(claimed) };
    const noted = { ...claimed, metadata: { ...claimed.metadata, annotations } };
    expect(diffObjects(volume(wanted), noted, rules).paths).toEqual(['/spec/claimRef/uid']);
    for (const operation of ['Apply', 'Update']) {
      const ours = { ...volume({ ...wanted, uid: 'u' }, managedEntry('argocd-controller', operation, spec)) };
      const how = operation === 'Apply' ? serverSide : { ...rules, replace: true };
      expect(diffObjects(volume(wanted), ours, how).paths).toEqual(['/spec/claimRef/uid']);
    }
    const shared = [
      managedEntry('argocd-controller', 'Apply', spec),
      managedEntry('kube-controller-manager', 'Update', spec),
    ];
    expect(diffObjects(volume(wanted), volume({ ...wanted, uid: 'u' }, ...shared), serverSide).paths).toEqual([]);
  });

  it.each([
    ['of another claim', { ...wanted, name: 'other' }],
    ['of another namespace', { ...wanted, namespace: 'other' }],
    ['with a uid of its own', { ...wanted, uid: 'other' }],
  ])('is sent as it is in Git %s', (_what, claimRef) => {
    expect(serverSideTarget(volume(claimRef), volume(bound, ...entries))['spec']).toEqual({ claimRef });
  });
});

describe('the data source of a claim that Git drops', () => {
  it('is removed with the field that restores it, so that the server refuses it and says why', () => {
    const dataSource = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 's' };
    const claim = (spec: object, metadata: object = {}): KubeObject => ({
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'a', namespace: 'x', ...metadata },
      spec: { accessModes: ['ReadWriteOnce'], ...spec },
    });
    const note = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(claim({ dataSource })) };
    const applied = claim({ dataSource, dataSourceRef: dataSource }, { annotations: note });
    expect(clientSideApplyPatch(claim({}), applied)?.body['spec']).toEqual({ dataSource: null, dataSourceRef: null });
    const owned = managedEntry('argocd-controller', 'Apply', { 'f:spec': { 'f:dataSource': {} } });
    const live = claim({ dataSource, dataSourceRef: dataSource }, { managedFields: [owned] });
    expect(serverSideTarget(claim({}), live)).toMatchObject({ spec: { dataSourceRef: null } });
  });
});

describe('the strategy of a StatefulSet that becomes OnDelete', () => {
  it('drops rollingUpdate, which the server refuses beside it, also its own default', () => {
    const set = (updateStrategy: JsonObject): KubeObject => ({
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'a', namespace: 'x' },
      spec: { serviceName: 'a', updateStrategy },
    });
    const live = set({ type: 'RollingUpdate', rollingUpdate: { partition: 0 } });
    const target = set({ type: 'OnDelete' });
    const updateStrategy = { type: 'OnDelete', rollingUpdate: null };
    expect(clientSideApplyPatch(target, live)?.body['spec']).toMatchObject({ updateStrategy });
    expect(serverSideTarget(target, live)).toMatchObject({ spec: { updateStrategy } });
    for (const how of [rules, serverSide]) expect(diffObjects(target, target, how).paths).toEqual([]);
    expect(serverSideTarget(target, target)).toEqual(target);
    // The server refuses these, and says why.
    const refused = set({ type: 'OnDelete', rollingUpdate: { partition: 1 } });
    expect(serverSideTarget(refused, live)).toEqual(refused);
  });
});
