import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { deepEqual, parseJson } from '#base';
import type { JsonObject } from '#base';
import { defaultSettings } from '#model';
import type { KubeObject, Settings } from '#model';
import { canonicalise } from './canonical.ts';
import { withDefaults } from './defaults.ts';
import { schemaOf } from './schema.ts';
import { diffDryRun, dryRunTarget } from './server-side.ts';
import type { DryRunFacts } from './server-side.ts';
import type { DiffRules } from './types.ts';
import { without } from './values.ts';

const rules: DiffRules = { settings: defaultSettings, ignoreDifferences: [] };

interface Merge {
  readonly target: KubeObject;
  readonly live: KubeObject;
  readonly after: KubeObject;
}

/** Applies with what the API server's own field manager makes of them, its managed fields included. */
const merges = readFileSync(new URL('./testdata/merges.ndjson', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line, i) => ({ ...(parseJson(line) as unknown as Merge), i }))
  .map((merge) => ({ ...merge, name: `${merge.i} ${merge.target.kind}` }));

function stored(object: KubeObject): unknown {
  const type = schemaOf(object);
  const bare = {
    ...without(object as unknown as JsonObject, ['status']),
    metadata: { ...object.metadata, managedFields: [] },
  };
  return canonicalise(withDefaults(canonicalise(bare as unknown as JsonObject, type), type), type);
}

describe('12.2: what the API server answers to a dry-run apply', () => {
  it.each(merges)('12.2: differs exactly where it would change something: $name', ({ target, live, after }) => {
    const facts = { target, live: withDefaultsOf(live), predicted: withDefaultsOf(after) };
    const isChanged = !deepEqual(stored(live) as JsonObject, stored(after) as JsonObject);
    expect(diffDryRun(facts, rules, 'included').modified).toBe(isChanged);
    expect(diffDryRun(facts, rules, 'left out').modified).toBe(isChanged);
  });

  it('12.2: the corpus has applies of either kind', () => {
    const changed = merges.filter(
      ({ live, after }) => !deepEqual(stored(live) as JsonObject, stored(after) as JsonObject),
    );
    expect([changed.length > 20, merges.length - changed.length > 5]).toEqual([true, true]);
  });
});

/** As a server gives it out. */
function withDefaultsOf(object: KubeObject): KubeObject {
  const type = schemaOf(object);
  const json = object as unknown as JsonObject;
  return canonicalise(withDefaults(canonicalise(json, type), type), type) as unknown as KubeObject;
}

const entry = (manager: string, operation: string, fieldsV1: JsonObject): JsonObject => ({
  manager,
  operation,
  apiVersion: 'apps/v1',
  fieldsType: 'FieldsV1',
  fieldsV1,
});
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
const diff = (facts: DryRunFacts, mutations: 'left out' | 'included' = 'left out', given = rules): readonly string[] =>
  diffDryRun(facts, given, mutations).paths;

describe('12.2: what mutation webhooks change', () => {
  const target = deployment({ containers: [app] });
  const live = deployment(
    { containers: [app] },
    { resourceVersion: '1', generation: 1, managedFields: [ours(inPod(ofApp))] },
  );
  const predicted = (podSpec: object, metadata: object = {}): KubeObject =>
    deployment(podSpec, { resourceVersion: '1', generation: 2, managedFields: [ours(inPod(ofApp))], ...metadata });

  it('12.2: is no difference: sidecars, labels, fields, status; with IncludeMutationWebhook it is one', () => {
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

  it('12.2: what is ours is found, also inside what a webhook has made', () => {
    expect(diff({ target, live, predicted: predicted({ containers: [{ ...app, image: 'a:2' }] }) })).toEqual([
      '/spec/template/spec/containers/0/image',
    ]);
    const owned = { 'f:securityContext': { 'f:runAsUser': {} } };
    const nested = predicted(
      { containers: [app], securityContext: { runAsUser: 1, fsGroup: 2 } },
      { managedFields: [ours(inPod({ ...ofApp, ...owned }))] },
    );
    const result = diffDryRun({ target, live, predicted: nested }, rules, 'left out');
    expect(result.predictedLive).toMatchObject({ spec: { template: { spec: { securityContext: { runAsUser: 1 } } } } });
    expect(result.predictedLive).not.toHaveProperty('spec.template.spec.securityContext.fsGroup');
  });

  it('12.2: what Git has dropped, and the server fills in again, is a difference until it was applied', () => {
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

  it('12.2: an item of a list with several keys keeps them all', () => {
    const ports = { 'f:ports': { 'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} } } };
    const fields = inPod({
      'f:containers': { 'k:{"name":"app"}': { '.': {}, 'f:name': {}, 'f:image': {}, ...ports } },
    });
    const exposed = { ...app, ports: [{ containerPort: 80, protocol: 'TCP' }] };
    const result = diffDryRun(
      { target, live, predicted: predicted({ containers: [exposed] }, { managedFields: [ours(fields)] }) },
      rules,
      'left out',
    );
    expect(result.predictedLive).toMatchObject({ spec: { template: { spec: { containers: [exposed] } } } });
  });

  it('12.2: what the apply takes away is a difference', () => {
    const withSidecar = deployment(
      { containers: [app, { name: 'old', image: 'o:1' }], dnsPolicy: 'None' },
      live.metadata,
    );
    expect(diff({ target, live: withSidecar, predicted: predicted({ containers: [app], dnsPolicy: 'None' }) })).toEqual(
      ['/spec/template/spec/containers'],
    );
  });

  it('12.2: what somebody took away is found also where nothing was left of what it was in', () => {
    const limit = { 'f:resources': { 'f:limits': { 'f:cpu': {} } } };
    const fields = { 'f:containers': { 'k:{"name":"app"}': { '.': {}, 'f:name': {}, 'f:image': {}, ...limit } } };
    const limited = { ...app, resources: { limits: { cpu: '1' } } };
    const answer = predicted({ containers: [limited] }, { managedFields: [ours(inPod(fields))] });
    for (const resources of [{}, { limits: {} }]) {
      const emptied = deployment({ containers: [{ ...app, resources }] }, live.metadata);
      expect(diff({ target, live: emptied, predicted: answer })).not.toEqual([]);
    }
    // A webhook that does it is none, and neither is one that takes no more than the emptied thing away.
    const webhook = predicted({ containers: [limited] });
    const emptied = deployment({ containers: [{ ...app, resources: {} }] }, live.metadata);
    expect(diff({ target, live: emptied, predicted: webhook })).toEqual([]);
  });

  it('12.2: what Git has dropped, and the server answers with null, is a difference; by a webhook it is none', () => {
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

  it('12.2: ignore rules and trusted managers hold, and what only the server writes is none', () => {
    const changed = predicted({ containers: [{ ...app, image: 'a:2' }] });
    const ignoring = {
      ...rules,
      ignoreDifferences: [
        { group: 'apps', kind: 'Deployment', jsonPointers: ['/spec/template/spec/containers/0/image'] },
      ],
    };
    expect(diff({ target, live, predicted: changed }, 'left out', ignoring)).toEqual([]);
    const theirs = deployment({ containers: [app] }, { managedFields: [entry('tuner', 'Update', inPod(ofApp))] });
    const trusting = {
      ...rules,
      ignoreDifferences: [{ group: 'apps', kind: 'Deployment', managedFieldsManagers: ['tuner'] }],
    };
    expect(diff({ target, live: theirs, predicted: changed })).toHaveLength(1);
    expect(diff({ target, live: theirs, predicted: changed }, 'left out', trusting)).toEqual([]);
    const noted = deployment(
      { containers: [app] },
      { ...live.metadata, annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{}' } },
    );
    expect(diff({ target, live: noted, predicted: predicted({ containers: [app] }) }, 'included')).toEqual([]);
  });

  it('12.2: an answer that does not say who owns what is refused, when that is needed', () => {
    const bare = deployment({ containers: [app] });
    const message = 'predictedLive for resource Deployment/x must have the managedFields';
    expect(() => diff({ target, live, predicted: bare })).toThrow(message);
    expect(diff({ target, live, predicted: bare }, 'included')).toEqual([]);
  });

  it('12.2: of a kind of which the API server notes no managers, the whole answer counts', () => {
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

  it('12.2: of a manifest that is no more than a name nobody needs to own anything', () => {
    const account: KubeObject = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 's', namespace: 'n' } };
    expect(diff({ target: account, live: account, predicted: account })).toEqual([]);
  });

  it('12.2: a Secret is sent with data only, since the server answers with that', () => {
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { a: 'b' } };
    expect(dryRunTarget(secret)).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's' },
      data: { a: 'Yg==' },
    });
    expect(dryRunTarget(target)).toBe(target);
  });

  it('12.2: a custom resource is known by its managed fields where nothing is published of it', () => {
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
      diff({ target: widget({}), live: present, predicted: answer(1) }, 'left out', { ...rules, settings }),
    ).toEqual([]);
    expect(diff({ target: widget({}), live: present, predicted: answer(2) })).toEqual(['/spec/items/0/size']);
  });
});
