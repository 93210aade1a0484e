import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cloneJson } from '#base';
import type { Json, JsonObject } from '#base';
import { defaultSettings } from '#model';
import type { KubeObject, ResourceIgnoreDifferences, ResourceOverride, Settings } from '#model';
import { normalize } from '../normalize/normalize.ts';
import { clientSideApplyPatch, predictApply } from '../applied/client-side-apply.ts';
import { applyJsonPatch } from '../patch/json-merge.ts';
import { diffObjects } from './diff.ts';
import { fingerprint } from './prepare.ts';

const override = (part: Partial<ResourceOverride>): ResourceOverride => ({
  useOpenLibs: false,
  knownTypeFields: [],
  ...part,
});
const withOverrides = (overrides: Settings['overrides']): Settings => ({ ...defaultSettings, overrides });
const kube = (object: unknown): KubeObject => object as KubeObject;
function modified(
  target: unknown,
  live: unknown,
  settings = defaultSettings,
  ignoreDifferences: readonly ResourceIgnoreDifferences[] = [],
): boolean {
  return diffObjects(kube(target), kube(live), { settings, ignoreDifferences }).modified;
}

const target = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', labels: { app: 'web' }, annotations: {} },
  spec: {
    replicas: 3,
    paused: false,
    selector: { matchLabels: { app: 'web' } },
    strategy: { type: 'RollingUpdate' },
    template: {
      metadata: { labels: { app: 'web' }, creationTimestamp: null },
      spec: {
        hostNetwork: false,
        imagePullSecrets: [],
        containers: [
          {
            name: 'web',
            image: 'nginx:1.25',
            env: [{ name: 'A', value: '1' }],
            ports: [{ containerPort: 80 }],
            resources: { limits: { cpu: '1000m', memory: '1024Mi' }, requests: { cpu: 0.5 } },
            readinessProbe: { httpGet: { port: 80 } },
          },
        ],
        tolerations: [{ key: 'a', operator: 'Exists' }],
        volumes: [{ name: 'c', configMap: { name: 'conf' } }],
      },
    },
  },
};
const live = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    name: 'web',
    namespace: 'default',
    uid: 'u',
    resourceVersion: '7',
    generation: 2,
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { app: 'web' },
    annotations: { 'deployment.kubernetes.io/revision': '1' },
  },
  spec: {
    replicas: 3,
    progressDeadlineSeconds: 600,
    revisionHistoryLimit: 10,
    selector: { matchLabels: { app: 'web' } },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } },
    template: {
      metadata: { labels: { app: 'web' }, creationTimestamp: null },
      spec: {
        containers: [
          {
            name: 'web',
            image: 'nginx:1.25',
            imagePullPolicy: 'IfNotPresent',
            env: [{ name: 'A', value: '1' }],
            ports: [{ containerPort: 80, protocol: 'TCP' }],
            resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '500m', memory: '1Gi' } },
            readinessProbe: {
              httpGet: { port: 80, path: '/', scheme: 'HTTP' },
              timeoutSeconds: 1,
              periodSeconds: 10,
              successThreshold: 1,
              failureThreshold: 3,
            },
            terminationMessagePath: '/dev/termination-log',
            terminationMessagePolicy: 'File',
          },
        ],
        dnsPolicy: 'ClusterFirst',
        restartPolicy: 'Always',
        schedulerName: 'default-scheduler',
        securityContext: {},
        terminationGracePeriodSeconds: 30,
        tolerations: [{ key: 'a', operator: 'Exists' }],
        volumes: [{ name: 'c', configMap: { name: 'conf', defaultMode: 420 } }],
      },
    },
  },
  status: { replicas: 3 },
};

/** The paths of all scalars. */
function scalars(value: Json, path: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (Array.isArray(value)) return value.flatMap((item: Json, i) => scalars(item, [...path, i]));
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([key, member]) => scalars(member ?? null, [...path, key]));
}
function mutate(value: Json, path: readonly (string | number)[], change: (old: Json) => Json): Json {
  const [step, ...rest] = path;
  if (step === undefined) return change(value);
  const copy = cloneJson(value) as Record<string, Json>;
  copy[step] = mutate(copy[step]!, rest, change);
  return copy;
}

describe('diffObjects', () => {
  // T-DIFF-1
  it('finds nothing in a freshly applied Deployment with all that the server filled in', () => {
    const result = diffObjects(kube(target), kube(live), { settings: defaultSettings, ignoreDifferences: [] });
    expect(result.paths).toEqual([]);
    expect(result.modified).toBe(false);
    expect(result.normalizedLive).not.toHaveProperty('status');
  });

  // T-DIFF-2
  it('detects the change of every single field that the target owns', () => {
    const owned = scalars(target as unknown as Json).filter(
      (path) =>
        !['apiVersion', 'kind', 'creationTimestamp', 'paused', 'hostNetwork'].includes(String(path.at(-1))) &&
        path.at(-2) !== 'matchExpressions',
    );
    const canonicalLive = live as unknown as Json;
    expect(owned.length).toBeGreaterThan(18);
    for (const path of owned) {
      const changed = mutate(canonicalLive, path, (old) =>
        typeof old === 'number' ? old + 1 : `${JSON.stringify(old)}x`,
      );
      expect([path.join('.'), modified(target, changed)]).toEqual([path.join('.'), true]);
    }
    expect(modified(target, { ...live, spec: { ...live.spec, paused: true } })).toBe(true);
  });

  it('returns at most ten differing paths', () => {
    const changed = mutate(live, ['spec', 'template', 'spec', 'containers', 0, 'image'], () => 'nginx:2');
    const result = diffObjects(kube(target), kube(changed), { settings: defaultSettings, ignoreDifferences: [] });
    expect(result.paths).toEqual(['/spec/template/spec/containers/0/image']);
    const many = (n: number): object => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'c' },
      data: Object.fromEntries(Array.from({ length: 30 }, (_x, i) => [`a/${i}`, String(n)])),
    });
    const wide = diffObjects(kube(many(1)), kube(many(2)), { settings: defaultSettings, ignoreDifferences: [] });
    expect(wide.paths).toHaveLength(10);
    expect(wide.paths[0]).toBe('/data/a~10');
  });

  it('compares objects that exist on one side only', () => {
    const rules = { settings: defaultSettings, ignoreDifferences: [] };
    expect(diffObjects(kube(target), null, rules)).toMatchObject({ modified: true, normalizedLive: null });
    expect(diffObjects(null, kube(live), rules)).toMatchObject({ modified: false, predictedLive: null });
    expect(() => diffObjects(null, null, rules)).toThrow('nothing to compare');
  });

  const map = (data: object, extra: object = {}): object => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'c', ...extra },
    data,
  });
  const applied = (object: object): object => ({
    annotations: { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(object) },
  });

  it.each<[string, object, object, boolean]>([
    ['a field that only live has', map({ a: '1' }), map({ a: '1', b: '2' }), false],
    [
      'a field that was applied and is dropped',
      map({ a: '1' }),
      map({ a: '1', b: '2' }, applied(map({ a: '1', b: '2' }))),
      true,
    ],
    [
      'a last-applied that is not JSON',
      map({ a: '1' }),
      map({ a: '1', b: '2' }, { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{' } }),
      false,
    ],
    ['a namespace that the target leaves out', map({ a: '1' }, { namespace: 'x' }), map({ a: '1' }), false],
    [
      'a value beyond 2^53',
      { apiVersion: 'x/v1', kind: 'X', metadata: { name: 'x' }, spec: { n: 9007199254740993n } },
      { apiVersion: 'x/v1', kind: 'X', metadata: { name: 'x' }, spec: { n: 9007199254740992n } },
      true,
    ],
    ['an own key __proto__', map(JSON.parse('{"__proto__":"1"}') as object), map({}), true],
    [
      'an own key __proto__ on both sides',
      map(JSON.parse('{"__proto__":"1"}') as object),
      map(JSON.parse('{"__proto__":"1"}') as object),
      false,
    ],
    ['an empty map against none', map({}), { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' } }, false],
    [
      'stringData against data',
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { a: 'é' } },
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, type: 'Opaque', data: { a: 'w6k=' } },
      false,
    ],
    [
      'stringData over data',
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: { a: 'eA==' }, stringData: { a: 'y' } },
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: { a: 'eQ==' } },
      false,
    ],
    [
      'null Secret data',
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: { a: null } },
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: { a: '' } },
      false,
    ],
    [
      'null rules against none',
      { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'r' }, rules: [] },
      { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'r' }, rules: null },
      false,
    ],
    [
      'a false that differs from unset',
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 's' }, automountServiceAccountToken: false },
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 's' } },
      true,
    ],
    [
      'defaults in a list that has no merge key',
      {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'NetworkPolicy',
        metadata: { name: 'n' },
        spec: { podSelector: {}, ingress: [{ ports: [{ port: 80 }] }] },
      },
      {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'NetworkPolicy',
        metadata: { name: 'n' },
        spec: { podSelector: {}, ingress: [{ ports: [{ port: 80, protocol: 'TCP' }] }], policyTypes: ['Ingress'] },
      },
      false,
    ],
    [
      'an item of a list that has no merge key',
      {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'NetworkPolicy',
        metadata: { name: 'n' },
        spec: { podSelector: {}, ingress: [{ ports: [{ port: 80 }] }] },
      },
      {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'NetworkPolicy',
        metadata: { name: 'n' },
        spec: { podSelector: {}, ingress: [{ ports: [{ port: 80, protocol: 'UDP' }] }] },
      },
      true,
    ],
    [
      'defaults inside items of a custom resource',
      { apiVersion: 'x/v1', kind: 'X', metadata: { name: 'x' }, spec: { l: [{ a: 1 }] } },
      { apiVersion: 'x/v1', kind: 'X', metadata: { name: 'x' }, spec: { l: [{ a: 1, d: 2 }], e: 1 } },
      false,
    ],
    [
      'one more item in a custom resource',
      { apiVersion: 'x/v1', kind: 'X', metadata: { name: 'x' }, spec: { l: [{ a: 1 }] } },
      { apiVersion: 'x/v1', kind: 'X', metadata: { name: 'x' }, spec: { l: [{ a: 1 }, { a: 2 }] } },
      true,
    ],
    [
      'a null in a custom resource that the server dropped',
      { apiVersion: 'x/v1', kind: 'X', metadata: { name: 'x' }, spec: { a: null } },
      { apiVersion: 'x/v1', kind: 'X', metadata: { name: 'x' }, spec: {} },
      false,
    ],
    [
      'users in a RoleBinding',
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { name: 'r' },
        roleRef: { kind: 'Role', name: 'x' },
        subjects: [{ kind: 'User', name: 'u' }],
      },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { name: 'r' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'x' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'u' }],
      },
      false,
    ],
    [
      'the claim templates of a StatefulSet',
      {
        apiVersion: 'apps/v1',
        kind: 'StatefulSet',
        metadata: { name: 's' },
        spec: {
          volumeClaimTemplates: [{ metadata: { name: 'd' }, spec: { resources: { requests: { storage: '1Gi' } } } }],
        },
      },
      {
        apiVersion: 'apps/v1',
        kind: 'StatefulSet',
        metadata: { name: 's' },
        spec: {
          volumeClaimTemplates: [
            {
              apiVersion: 'v1',
              kind: 'PersistentVolumeClaim',
              metadata: { name: 'd', creationTimestamp: null },
              spec: { volumeMode: 'Filesystem', resources: { requests: { storage: '1Gi' } } },
              status: { phase: 'Pending' },
            },
          ],
        },
      },
      false,
    ],
    [
      'a changed claim template',
      {
        apiVersion: 'apps/v1',
        kind: 'StatefulSet',
        metadata: { name: 's' },
        spec: {
          volumeClaimTemplates: [{ metadata: { name: 'd' }, spec: { resources: { requests: { storage: '2Gi' } } } }],
        },
      },
      {
        apiVersion: 'apps/v1',
        kind: 'StatefulSet',
        metadata: { name: 's' },
        spec: {
          volumeClaimTemplates: [
            {
              metadata: { name: 'd' },
              spec: { volumeMode: 'Filesystem', resources: { requests: { storage: '1Gi' } } },
            },
          ],
        },
      },
      true,
    ],
  ])('%s', (_name, wanted, present, expected) => {
    expect(modified(wanted, present)).toBe(expected);
  });

  it('ignores rules of aggregated roles if configured', () => {
    const role = (rules: Json): object => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'r' },
      aggregationRule: { clusterRoleSelectors: [] },
      rules,
    });
    const filledIn = role([{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]);
    expect(modified(role([{ apiGroups: ['x'], resources: ['y'], verbs: ['z'] }]), filledIn)).toBe(true);
    expect(
      modified(role([{ apiGroups: ['x'], resources: ['y'], verbs: ['z'] }]), filledIn, {
        ...defaultSettings,
        ignoreAggregatedRoles: true,
      }),
    ).toBe(false);
  });

  it('ignores the status as configured', () => {
    const x = (status: string, kind = 'X', group = 'x'): object => ({
      apiVersion: `${group}/v1`,
      kind,
      metadata: { name: 'x' },
      status: { status },
    });
    const crd = (status: string): object => x(status, 'CustomResourceDefinition', 'apiextensions.k8s.io');
    expect(modified(x('a'), x('b'))).toBe(false);
    expect(modified(x('a'), x('b'), { ...defaultSettings, ignoreResourceStatusField: 'crd' })).toBe(true);
    expect(modified(crd('a'), crd('b'), { ...defaultSettings, ignoreResourceStatusField: 'crd' })).toBe(false);
    expect(modified(crd('a'), crd('b'), { ...defaultSettings, ignoreResourceStatusField: 'none' })).toBe(true);
  });

  it('ignores tracking marks of an older method', () => {
    const tracked = {
      ...map({ a: '1' }),
      metadata: { name: 'c', annotations: { 'argocd.argoproj.io/tracking-id': 'web:/ConfigMap:d/c' } },
    };
    const old = { ...map({ a: '1' }), metadata: { name: 'c', labels: { 'app.kubernetes.io/instance': 'web' } } };
    expect(modified(tracked, old)).toBe(false);
    const emptied = { ...old, metadata: { ...old.metadata, annotations: { 'argocd.argoproj.io/tracking-id': '' } } };
    expect(modified(tracked, emptied)).toBe(false);
    expect(modified(tracked, map({ a: '1' }))).toBe(true);
  });
});

describe('ignore rules', () => {
  const rule = (part: Partial<ResourceIgnoreDifferences>): ResourceIgnoreDifferences => ({
    group: 'apps',
    kind: 'Deployment',
    ...part,
  });
  const image = mutate(live, ['spec', 'template', 'spec', 'containers', 0, 'image'], () => 'other');
  const jq = '.spec.template.spec.containers[] | select(.name == "web") | .image';

  it.each([
    [rule({ jsonPointers: ['/spec/template/spec/containers/0/image'] }), false],
    [rule({ jsonPointers: ['/spec/template/spec/containers/-1/image'] }), false],
    [rule({ jsonPointers: ['/spec/nothing/here'] }), true],
    [rule({ jqPathExpressions: [jq] }), false],
    [rule({ kind: '*', group: '*', jqPathExpressions: [jq] }), false],
    [rule({ group: '', jqPathExpressions: [jq] }), true],
    [rule({ name: 'other', jqPathExpressions: [jq] }), true],
    [rule({ name: 'web', namespace: 'elsewhere', jqPathExpressions: [jq] }), true],
  ])('%j', (ignore, expected) => {
    expect(modified(target, image, defaultSettings, [ignore])).toBe(expected);
  });

  it.each([
    ['apps/Deployment', false],
    ['*/*', false],
    ['apps/*', false],
    ['Deployment', true],
    ['a/b/c', true],
  ])('settings key %s', (key, expected) => {
    const settings = withOverrides({ [key]: override({ ignoreDifferences: { jqPathExpressions: [jq] } }) });
    expect(modified(target, image, settings)).toBe(expected);
  });

  it('ignores fields of trusted managers', () => {
    const managedFields = [
      {
        manager: 'scaler',
        fieldsV1: {
          'f:spec': {
            'f:replicas': {},
            'f:template': { 'f:spec': { 'f:containers': { 'k:{"name":"web"}': { '.': {}, 'f:image': {} } } } },
          },
        },
      },
    ];
    const scaled = kube({
      ...(image as JsonObject),
      metadata: { ...live.metadata, managedFields },
      spec: { ...((image as JsonObject)['spec'] as JsonObject), replicas: 9 },
    });
    expect(modified(target, scaled)).toBe(true);
    expect(modified(target, scaled, defaultSettings, [rule({ managedFieldsManagers: ['other'] })])).toBe(true);
    expect(modified(target, scaled, defaultSettings, [rule({ managedFieldsManagers: ['scaler'] })])).toBe(false);
    expect(
      modified(
        target,
        scaled,
        withOverrides({ '*/*': override({ ignoreDifferences: { managedFieldsManagers: ['scaler'] } }) }),
      ),
    ).toBe(false);
    expect(
      modified(
        target,
        scaled,
        withOverrides({ 'apps/*': override({ ignoreDifferences: { managedFieldsManagers: ['scaler'] } }) }),
      ),
    ).toBe(true);
  });

  it('compares known types in custom resources, those of a Rollout by default', () => {
    const rollout = (cpu: Json): object => ({
      apiVersion: 'argoproj.io/v1alpha1',
      kind: 'Rollout',
      metadata: { name: 'r' },
      spec: { template: { spec: { containers: [{ name: 'a', resources: { limits: { cpu } } }] } } },
    });
    expect(modified(rollout('1000m'), rollout('1'))).toBe(false);
    expect(modified(rollout('1001m'), rollout('1'))).toBe(true);
    const x = (size: string): object => ({
      apiVersion: 'x.io/v1',
      kind: 'X',
      metadata: { name: 'x' },
      spec: { items: [{ size }] },
    });
    const settings = withOverrides({
      'x.io/X': override({ knownTypeFields: [{ field: 'spec.items.size', type: 'core/Quantity' }] }),
    });
    expect(modified(x('1.25G'), x('1250M'))).toBe(true);
    expect(modified(x('1.25G'), x('1250M'), settings)).toBe(false);
  });
});

describe('fingerprint', () => {
  it('changes only with fields that count', () => {
    const before = fingerprint(kube(live), defaultSettings);
    const touched = {
      ...live,
      metadata: { ...live.metadata, resourceVersion: '8', generation: 3, managedFields: [{}] },
      status: { replicas: 2 },
    };
    expect(fingerprint(kube(touched), defaultSettings)).toBe(before);
    expect(fingerprint(kube({ ...live, spec: { ...live.spec, replicas: 4 } }), defaultSettings)).not.toBe(before);
    const settings = withOverrides({
      'apps/Deployment': override({ ignoreResourceUpdates: { jsonPointers: ['/spec/replicas'] } }),
    });
    expect(fingerprint(kube({ ...live, spec: { ...live.spec, replicas: 4 } }), settings)).toBe(
      fingerprint(kube(live), settings),
    );
  });
});

describe('predictApply and clientSideApplyPatch', () => {
  const leaf = fc.oneof(fc.string({ maxLength: 3 }), fc.integer({ min: 0, max: 3 }), fc.boolean(), fc.constant(null));
  const spec = fc.letrec<{ value: Json; object: JsonObject }>((tie) => ({
    value: fc.oneof({ depthSize: 'small' }, leaf, fc.array(tie('value'), { maxLength: 3 }), tie('object')),
    object: fc.dictionary(fc.constantFrom('a', 'b', 'c', '__proto__'), tie('value'), { maxKeys: 3 }),
  })).object;
  const custom = (body: JsonObject): KubeObject =>
    kube({ apiVersion: 'x.io/v1', kind: 'X', metadata: { name: 'x' }, spec: body });

  // T-DIFF-3
  it('nothing differs after an apply, and a second apply does nothing', () => {
    fc.assert(
      fc.property(spec, spec, spec, (first, second, drift) => {
        const born = predictApply(custom(first), custom({}));
        const drifted = kube({ ...born, spec: { ...(born['spec'] as JsonObject), ...drift } });
        const after = predictApply(custom(second), drifted);
        expect(diffObjects(custom(second), after, { settings: defaultSettings, ignoreDifferences: [] }).paths).toEqual(
          [],
        );
        expect(clientSideApplyPatch(custom(second), after)).toBeUndefined();
      }),
      { numRuns: 300 },
    );
  });

  it('predicts the result of the merge patch', () => {
    fc.assert(
      fc.property(spec, spec, (wanted, present) => {
        const patch = clientSideApplyPatch(custom(wanted), custom(present))!;
        expect(patch.type).toBe('merge');
        expect(applyJsonPatch(custom(present) as unknown as JsonObject, patch.body)).toEqual(
          predictApply(custom(wanted), custom(present)),
        );
      }),
    );
  });

  it('sends the annotation that kubectl writes', () => {
    const wanted = kube({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { b: '<1>', a: '2' } });
    const patch = clientSideApplyPatch(wanted, kube({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' } }))!;
    expect(patch.type).toBe('strategic');
    expect((patch.body['metadata'] as JsonObject)['annotations']).toEqual({
      'kubectl.kubernetes.io/last-applied-configuration':
        '{"apiVersion":"v1","data":{"a":"2","b":"\\u003c1\\u003e"},"kind":"ConfigMap","metadata":{"annotations":{},"name":"c"}}\n',
    });
    expect(patch.body['data']).toEqual({ b: '<1>', a: '2' });
  });

  it('removes only fields that were applied before', () => {
    const first = kube({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { a: '1', b: '2' } });
    const born = predictApply(
      first,
      kube({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', uid: 'u' }, data: { other: 'x' } }),
    );
    const after = predictApply(
      kube({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { a: '1' } }),
      born,
    );
    expect(after['data']).toEqual({ a: '1', other: 'x' });
    expect(after.metadata.uid).toBe('u');
  });

  // T-DIFF-1
  it('finds no difference after a Deployment is applied over its drift', () => {
    const drift = mutate(live, ['spec', 'template', 'spec', 'containers', 0, 'image'], () => 'other');
    expect(modified(target, predictApply(kube(target), kube(drift)))).toBe(false);
    expect(clientSideApplyPatch(kube(target), predictApply(kube(target), kube(live)))).toBeUndefined();
  });

  it('normalize is idempotent and keeps the reference when nothing changes', () => {
    for (const object of [target, live]) {
      const once = normalize(object, false);
      expect(normalize(once, false)).toBe(once);
    }
  });
});

describe('values that the API server rewrites', () => {
  const text = 'c2VjcmV0IHNlY3JldCBzZWNyZXQ=';
  const wrapped = `${text.slice(0, 12)}\n${text.slice(12)}\r\n`;
  const object = (apiVersion: string, kind: string, rest: object): unknown => ({
    apiVersion,
    kind,
    metadata: { name: 'x' },
    ...rest,
  });
  const webhook = (caBundle: string): object => ({ webhooks: [{ name: 'a', clientConfig: { caBundle } }] });
  const conversion = (caBundle: string): object => ({
    spec: { conversion: { strategy: 'Webhook', webhook: { clientConfig: { caBundle } } } },
  });
  const bytes: readonly [string, string, (value: string) => object][] = [
    ['v1', 'Secret', (value) => ({ data: { a: value } })],
    ['v1', 'ConfigMap', (value) => ({ binaryData: { a: value } })],
    ['admissionregistration.k8s.io/v1', 'MutatingWebhookConfiguration', webhook],
    ['admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', webhook],
    ['apiregistration.k8s.io/v1', 'APIService', (caBundle) => ({ spec: { caBundle } })],
    ['apiextensions.k8s.io/v1', 'CustomResourceDefinition', conversion],
  ];

  it.each(bytes)('base64 with line breaks equals base64 on one line: %s %s', (apiVersion, kind, of) => {
    const live = object(apiVersion, kind, of(text));
    expect(modified(object(apiVersion, kind, of(wrapped)), live)).toBe(false);
    expect(modified(object(apiVersion, kind, of(`${text.slice(0, -4)}cmY=`)), live)).toBe(true);
    expect(modified(object(apiVersion, kind, of(`${text} `)), live)).toBe(true);
  });

  /** In atomic lists, whose items must be equal in all fields. */
  const writtenOut: readonly (readonly [kind: string, apiVersion: string, target: object, stored: object])[] = [
    [
      'EndpointSlice',
      'discovery.k8s.io/v1',
      { addressType: 'IPv4', endpoints: [{ addresses: ['192.0.2.1'] }] },
      { addressType: 'IPv4', endpoints: [{ addresses: ['192.0.2.1'], conditions: {} }], ports: null },
    ],
    [
      'ResourceClaim',
      'resource.k8s.io/v1beta1',
      { spec: { devices: { requests: [{ name: 'a', firstAvailable: [{ name: 'b', deviceClassName: 'c' }] }] } } },
      {
        spec: {
          devices: {
            requests: [
              {
                name: 'a',
                deviceClassName: '',
                firstAvailable: [{ name: 'b', deviceClassName: 'c', allocationMode: 'ExactCount', count: 1 }],
              },
            ],
          },
        },
      },
    ],
    [
      'NetworkPolicy',
      'networking.k8s.io/v1',
      { spec: { egress: [{}], policyTypes: ['Ingress', 'Egress'] } },
      { spec: { podSelector: {}, egress: [{}], policyTypes: ['Ingress', 'Egress'] } },
    ],
  ];

  it.each(writtenOut)('fields that Go always writes are no difference: %s', (kind, apiVersion, applied, stored) => {
    const note = JSON.stringify({ apiVersion, kind, metadata: { name: 'x' }, ...stored });
    const metadata = { name: 'x', annotations: { 'kubectl.kubernetes.io/last-applied-configuration': note } };
    const present = kube({ apiVersion, kind, metadata, ...stored });
    const wanted = kube({ apiVersion, kind, metadata: { name: 'x' }, ...applied });
    for (const serverSideApply of [false, true])
      expect(
        diffObjects(wanted, present, { settings: defaultSettings, ignoreDifferences: [], serverSideApply }).paths,
      ).toEqual([]);
  });

  it('a FlowSchema precedence of zero equals none', () => {
    const flow = (spec: object | undefined, metadata: object): KubeObject =>
      kube({ apiVersion: 'flowcontrol.apiserver.k8s.io/v1', kind: 'FlowSchema', metadata, spec });
    const fieldsV1 = { 'f:spec': { 'f:matchingPrecedence': {} } };
    const owned = { manager: 'argocd-controller', operation: 'Apply', fieldsType: 'FieldsV1', fieldsV1 };
    const present = flow(
      { matchingPrecedence: 1000, priorityLevelConfiguration: {} },
      { name: 'x', managedFields: [owned] },
    );
    const given = { settings: defaultSettings, ignoreDifferences: [], serverSideApply: true };
    for (const spec of [{ matchingPrecedence: 0 }, {}, undefined])
      expect(diffObjects(flow(spec, { name: 'x' }), present, given).paths).toEqual([]);
    expect(diffObjects(flow({ matchingPrecedence: 5 }, { name: 'x' }), present, given).modified).toBe(true);
  });

  it('the maximum of a container LimitRange is its default and default request', () => {
    const limits = (rest: object): unknown =>
      object('v1', 'LimitRange', { spec: { limits: [{ type: 'Container', max: { cpu: '2' }, ...rest }] } });
    const live = limits({ default: { cpu: '2' }, defaultRequest: { cpu: '2' } });
    expect(modified(limits({}), live)).toBe(false);
    expect(modified(limits({ default: { cpu: '1' } }), live)).toBe(true);
  });

  it('requests default to limits in a Pod, but not in a pod template', () => {
    const spec = (rest: object): object => ({ containers: [{ name: 'a', image: 'b', resources: rest }] });
    const [limits, both] = [{ limits: { cpu: '1' } }, { limits: { cpu: '1' }, requests: { cpu: '1' } }];
    const before = (kind: string, apiVersion: string, old: object, live: object): unknown => ({
      ...(object(apiVersion, kind, live) as object),
      metadata: {
        name: 'x',
        annotations: {
          'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(object(apiVersion, kind, old)),
        },
      },
    });
    const pod = { spec: spec(both) };
    expect(modified(object('v1', 'Pod', { spec: spec(limits) }), before('Pod', 'v1', pod, pod))).toBe(false);
    const template = { spec: { template: { spec: spec(both) } } };
    const target = object('apps/v1', 'Deployment', { spec: { template: { spec: spec(limits) } } });
    expect(modified(target, before('Deployment', 'apps/v1', template, template))).toBe(true);
  });
});
