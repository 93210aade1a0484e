import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { deepEqual } from '#base';
import type { Json, JsonObject } from '#base';
import { defaultSettings } from '#model';
import type { KubeObject, Settings } from '#model';
import type { DiffRules } from '../ignore/diff-rules.ts';
import { canonicalise } from '../normalize/canonical.ts';
import { withDefaults } from '../normalize/defaults.ts';
import { schemaOf } from '../schema/schema.ts';
import { asKube, withoutMembers } from '../shared/values.ts';
import { parseMergeExamples } from '../testing/kind-examples.ts';
import { managedEntry } from '../testing/managed-entry.ts';
import { dryRunRequest } from './dry-run-request.ts';
import { diffDryRun, dryRunTarget } from './dry-run.ts';
import type { DryRunFacts } from './dry-run.ts';

const mergeExamples = parseMergeExamples(readFileSync(new URL('../testdata/merges.ndjson', import.meta.url), 'utf8'));

const rules: DiffRules = { settings: defaultSettings, ignoreDifferences: [] };

const merges = mergeExamples.map(({ name, target, live, after }) => ({
  name,
  target: asKube(target),
  live: asKube(live),
  after: asKube(after),
}));

function stored(object: KubeObject): unknown {
  const type = schemaOf(object);
  const bare = {
    ...withoutMembers(object as unknown as JsonObject, ['status']),
    metadata: { ...object.metadata, managedFields: [] },
  };
  return canonicalise(withDefaults(canonicalise(bare as unknown as JsonObject, type), type), type);
}

describe('diffDryRun', () => {
  it.each(merges)('is modified exactly if the apply changes something: $name', ({ target, live, after }) => {
    const facts = { target, live: withDefaultsOf(live), predicted: withDefaultsOf(after) };
    const isChanged = !deepEqual(stored(live) as JsonObject, stored(after) as JsonObject);
    expect(diffDryRun(facts, rules, 'included').modified).toBe(isChanged);
    expect(diffDryRun(facts, rules, 'excluded').modified).toBe(isChanged);
  });

  it('is tested with applies that change something and applies that do not', () => {
    const changed = merges.filter(
      ({ live, after }) => !deepEqual(stored(live) as JsonObject, stored(after) as JsonObject),
    );
    expect([changed.length > 20, merges.length - changed.length > 5]).toEqual([true, true]);
  });
});

/** The object as the API server returns it. */
function withDefaultsOf(object: KubeObject): KubeObject {
  const type = schemaOf(object);
  const json = object as unknown as JsonObject;
  return canonicalise(withDefaults(canonicalise(json, type), type), type) as unknown as KubeObject;
}

const entry = (manager: string, operation: string, fieldsV1: JsonObject): JsonObject =>
  managedEntry(manager, operation, fieldsV1, { apiVersion: 'apps/v1' });
const inPod = (fields: JsonObject): JsonObject => ({ 'f:spec': { 'f:template': { 'f:spec': fields } } });
const ours = (fields: JsonObject): JsonObject => entry('argocd-controller', 'Apply', fields);
const app = { name: 'app', image: 'a:1' };
const ofApp = { 'f:containers': { 'k:{"name":"app"}': { '.': {}, 'f:name': {}, 'f:image': {} } } };

function deployment(podSpec: object, metadata: object = {}): KubeObject {
  const spec = { replicas: 1, template: { spec: podSpec } };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'x', namespace: 'n', ...metadata },
    spec,
  } as unknown as KubeObject;
}
const diff = (facts: DryRunFacts, mutations: 'excluded' | 'included' = 'excluded', given = rules): readonly string[] =>
  diffDryRun(facts, given, mutations).paths;

describe('changes of mutating webhooks', () => {
  const target = deployment({ containers: [app] });
  const live = deployment(
    { containers: [app] },
    { resourceVersion: '1', generation: 1, managedFields: [ours(inPod(ofApp))] },
  );
  const predicted = (podSpec: object, metadata: object = {}): KubeObject =>
    deployment(podSpec, { resourceVersion: '1', generation: 2, managedFields: [ours(inPod(ofApp))], ...metadata });

  it('are ignored (sidecars, labels, fields, status) unless IncludeMutationWebhook is set', () => {
    const mutated = predicted(
      {
        containers: [
          { ...app, stdin: true },
          { name: 'sidecar', image: 's:1' },
        ],
        hostNetwork: true,
        tolerations: [{ key: 'k' }],
      },
      { labels: { injected: 'yes' } },
    );
    expect(diff({ target, live, predicted: mutated })).toEqual([]);
    expect([...diff({ target, live, predicted: mutated }, 'included')].sort()).toEqual([
      '/metadata/labels',
      '/spec/template/spec/containers',
      '/spec/template/spec/hostNetwork',
      '/spec/template/spec/tolerations',
    ]);
  });

  it('do not hide our own fields, even inside additions of a webhook', () => {
    expect(diff({ target, live, predicted: predicted({ containers: [{ ...app, image: 'a:2' }] }) })).toEqual([
      '/spec/template/spec/containers/0/image',
    ]);
    const owned = { 'f:securityContext': { 'f:runAsUser': {} } };
    const nested = predicted(
      { containers: [app], securityContext: { runAsUser: 1, fsGroup: 2 } },
      { managedFields: [ours(inPod({ ...ofApp, ...owned }))] },
    );
    const result = diffDryRun({ target, live, predicted: nested }, rules, 'excluded');
    expect(result.predictedLive).toMatchObject({ spec: { template: { spec: { securityContext: { runAsUser: 1 } } } } });
    expect(result.predictedLive).not.toHaveProperty('spec.template.spec.securityContext.fsGroup');
  });

  it('do not include a field that Git dropped and the server defaults again', () => {
    const policy = { 'f:dnsPolicy': {} };
    const before = deployment(
      { containers: [app], dnsPolicy: 'None' },
      { managedFields: [ours(inPod({ ...ofApp, ...policy }))] },
    );
    const filled = predicted({ containers: [app], dnsPolicy: 'ClusterFirst' });
    expect(diff({ target, live: before, predicted: filled })).toEqual(['/spec/template/spec/dnsPolicy']);
    expect(diff({ target, live: filled, predicted: filled })).toEqual([]);
    const webhook = predicted({ containers: [app], dnsPolicy: 'Default' });
    expect(diff({ target, live: filled, predicted: webhook })).toEqual([]);
  });

  it('leave a list item all of its keys', () => {
    const ports = { 'f:ports': { 'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} } } };
    const fields = inPod({
      'f:containers': { 'k:{"name":"app"}': { '.': {}, 'f:name': {}, 'f:image': {}, ...ports } },
    });
    const exposed = { ...app, ports: [{ containerPort: 80, protocol: 'TCP' }] };
    const result = diffDryRun(
      { target, live, predicted: predicted({ containers: [exposed] }, { managedFields: [ours(fields)] }) },
      rules,
      'excluded',
    );
    expect(result.predictedLive).toMatchObject({ spec: { template: { spec: { containers: [exposed] } } } });
  });

  it('do not include what the apply removes', () => {
    const withSidecar = deployment(
      { containers: [app, { name: 'old', image: 'o:1' }], dnsPolicy: 'None' },
      live.metadata,
    );
    expect(diff({ target, live: withSidecar, predicted: predicted({ containers: [app], dnsPolicy: 'None' }) })).toEqual(
      ['/spec/template/spec/containers'],
    );
  });

  it('do not hide a removal that emptied the containing map', () => {
    const limit = { 'f:resources': { 'f:limits': { 'f:cpu': {} } } };
    const fields = { 'f:containers': { 'k:{"name":"app"}': { '.': {}, 'f:name': {}, 'f:image': {}, ...limit } } };
    const limited = { ...app, resources: { limits: { cpu: '1' } } };
    const answer = predicted({ containers: [limited] }, { managedFields: [ours(inPod(fields))] });
    for (const resources of [{}, { limits: {} }]) {
      const emptied = deployment({ containers: [{ ...app, resources }] }, live.metadata);
      expect(diff({ target, live: emptied, predicted: answer })).not.toEqual([]);
    }
    // A webhook may do the same, or remove only the emptied map; neither is a difference.
    const webhook = predicted({ containers: [limited] });
    const emptied = deployment({ containers: [{ ...app, resources: {} }] }, live.metadata);
    expect(diff({ target, live: emptied, predicted: webhook })).toEqual([]);
  });

  it('do not include a dropped field that the server returns as null', () => {
    const time = { 'f:eventTime': {} };
    const event = (eventTime: string | null, fields: JsonObject): KubeObject => ({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'e', namespace: 'n', managedFields: [ours({ 'f:reason': {}, ...fields })] },
      reason: 'Because',
      eventTime,
    });
    const { metadata, ...rest } = event(null, {});
    const manifest = { ...rest, metadata: { name: 'e', namespace: metadata.namespace ?? '' } };
    const before = '2024-01-01T00:00:00.000000Z';
    expect(diff({ target: manifest, live: event(before, time), predicted: event(null, {}) })).toEqual(['/eventTime']);
    expect(diff({ target: manifest, live: event(before, {}), predicted: event(null, {}) })).toEqual([]);
  });

  it('include a list of ours that a patch removed and Go writes as null', () => {
    const item = { 'k:{"name":"d"}': { '.': {}, 'f:name': {}, 'f:nodeID': {} } };
    const node = (drivers: Json, fields: JsonObject): KubeObject => ({
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSINode',
      metadata: { name: 'n', managedFields: [managedEntry('argocd-controller', 'Update', fields)] },
      spec: { drivers },
    });
    const before = node([{ name: 'd', nodeID: 'i' }], { 'f:spec': { 'f:drivers': item } });
    const manifest: KubeObject = {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSINode',
      metadata: { name: 'n' },
      spec: {},
    };
    const answer = node(null, { 'f:metadata': { 'f:annotations': { 'f:a': {} } } });
    expect(diff({ target: manifest, live: before, predicted: answer })).toEqual(['/spec']);
  });

  it('respect ignore rules and trusted managers, and skip fields that only the server writes', () => {
    const changed = predicted({ containers: [{ ...app, image: 'a:2' }] });
    const ignoring = {
      ...rules,
      ignoreDifferences: [
        { group: 'apps', kind: 'Deployment', jsonPointers: ['/spec/template/spec/containers/0/image'] },
      ],
    };
    expect(diff({ target, live, predicted: changed }, 'excluded', ignoring)).toEqual([]);
    const theirs = deployment({ containers: [app] }, { managedFields: [entry('tuner', 'Update', inPod(ofApp))] });
    const trusting = {
      ...rules,
      ignoreDifferences: [{ group: 'apps', kind: 'Deployment', managedFieldsManagers: ['tuner'] }],
    };
    expect(diff({ target, live: theirs, predicted: changed })).toHaveLength(1);
    expect(diff({ target, live: theirs, predicted: changed }, 'excluded', trusting)).toEqual([]);
    const noted = deployment(
      { containers: [app] },
      { ...live.metadata, annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}' } },
    );
    expect(diff({ target, live: noted, predicted: predicted({ containers: [app] }) }, 'included')).toEqual([]);
  });

  it('count in a struct that we create, with the defaults of the server', () => {
    const fields = inPod({ ...ofApp, 'f:os': {} });
    const after = predicted({ containers: [app], os: { name: '' } }, { managedFields: [ours(fields)] });
    expect(diff({ target: deployment({ containers: [app], os: {} }), live, predicted: after })).toEqual([
      '/spec/template/spec/os',
    ]);
  });

  it('count in the order of items that Argo CD stored by Replace', () => {
    const side = { name: 'side', image: 's:1' };
    const ofSide = { 'k:{"name":"side"}': { '.': {}, 'f:name': {}, 'f:image': {} } };
    const fields = inPod({ 'f:containers': { ...ofApp['f:containers'], ...ofSide } });
    const managedFields = [entry('argocd-application-controller', 'Update', fields)];
    const [before, after] = [
      deployment({ containers: [app, side] }, { managedFields }),
      deployment({ containers: [side, app] }, { managedFields }),
    ];
    expect(diff({ target: deployment({ containers: [side, app] }), live: before, predicted: after })).not.toEqual([]);
  });

  it('need a response with managed fields', () => {
    const bare = deployment({ containers: [app] });
    const message = 'predictedLive for resource Deployment/x must have the managedFields';
    expect(() => diff({ target, live, predicted: bare })).toThrow(message);
    expect(diff({ target, live, predicted: bare }, 'included')).toEqual([]);
  });

  it('count for a kind without managed fields', () => {
    const request = (expirationSeconds: number): KubeObject => ({
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name: 'x' },
      spec: { request: 'eA==', signerName: 'e.io/s', usages: ['client auth'], expirationSeconds },
    });
    const facts = { target: request(600), live: request(600) };
    expect(diff({ ...facts, predicted: request(600) })).toEqual([]);
    expect(diff({ ...facts, predicted: request(900) })).toEqual(['/spec/expirationSeconds']);
  });

  it('need no owner for a manifest that has only a name', () => {
    const account: KubeObject = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 's', namespace: 'n' } };
    expect(diff({ target: account, live: account, predicted: account })).toEqual([]);
  });

  it('are avoided for a Secret by sending data only', () => {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { a: 'b' } };
    expect(dryRunTarget(secret)).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's' },
      data: { a: 'Yg==' },
    });
    expect(dryRunTarget(target)).toBe(target);
  });

  it('are recognised in a custom resource without a schema by its managed fields', () => {
    const widget = (spec: object, metadata: object = {}): KubeObject => ({
      apiVersion: 'e.io/v1',
      kind: 'W',
      metadata: { name: 'w', ...metadata },
      spec,
    });
    const owned = ours({ 'f:spec': { 'f:items': { 'k:{"id":1}': { '.': {}, 'f:id': {}, 'f:size': {} } } } });
    const present = widget({ items: [{ id: 1, size: 1 }] }, { managedFields: [owned] });
    const answer = (size: number): KubeObject =>
      widget({ items: [{ id: 1, size, made: true }, { id: 2 }] }, { managedFields: [owned] });
    const settings: Settings = defaultSettings;
    expect(
      diff({ target: widget({}), live: present, predicted: answer(1) }, 'excluded', { ...rules, settings }),
    ).toEqual([]);
    expect(diff({ target: widget({}), live: present, predicted: answer(2) })).toEqual(['/spec/items/0/size']);
  });
});

describe('the dry run of a replacement', () => {
  const owned = { managedFields: [entry('argocd-controller', 'Update', { 'f:data': { 'f:a': {}, 'f:b': {} } })] };
  const configMap = (data: object, metadata: object = {}): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'x', namespace: 'n', ...metadata },
    data,
  });
  const stored = configMap({ a: '1', b: '2' }, { uid: 'u', resourceVersion: '7', ...owned });

  it('sends what the target drops and changes, without version and managed fields of live', () => {
    const sent = configMap({ a: '2' }, { uid: 'u' });
    expect(dryRunRequest(configMap({ a: '2' }), stored, 'replace', {})).toEqual({ verb: 'replace', body: sent });
  });

  it('is not sent if nothing changes', () => {
    expect(dryRunRequest(configMap({ a: '1', b: '2' }), stored, 'replace', {})).toBeUndefined();
  });
});
