import { describe, expect, it } from '@jest/globals';
import { annotations, defaultSettings } from '#model';
import type { KubeObject } from '#model';
import { diffObjects } from '../comparison/diff.ts';
import type { DiffRules } from '../ignore/diff-rules.ts';
import { managedEntry } from '../testing/managed-entry.ts';
import { clientSideApplyPatch, displacedItemsPatch, predictApply } from './client-side-apply.ts';
import { serverSideTarget } from './server-side-target.ts';

const rules: DiffRules = { settings: defaultSettings, ignoreDifferences: [] };
const ours = 'argocd-controller';
const kube = (object: object): KubeObject => object as KubeObject;

/** A manifest has no managed fields. */
const owned = (managedFields: readonly object[]): object => (managedFields.length === 0 ? {} : { managedFields });

function config(data: object, ...managedFields: object[]): KubeObject {
  const metadata = { name: 'a', namespace: 'apps', ...owned(managedFields) };
  return kube({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
}

const keys = (...names: string[]): object => ({
  'f:data': Object.fromEntries(names.map((name) => [`f:${name}`, {}])),
});

interface PodParts {
  readonly spec: object;
  readonly managedFields?: readonly object[];
  readonly notes?: object;
}

function deployment({ spec, managedFields = [], notes }: PodParts): KubeObject {
  const metadata = {
    name: 'web',
    namespace: 'apps',
    ...owned(managedFields),
    ...(notes === undefined ? {} : { annotations: notes }),
  };
  const selector = { matchLabels: { app: 'web' } };
  const template = { metadata: { labels: { app: 'web' } }, spec };
  return kube({ apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { selector, template } });
}

const podFields = (fields: object): object => ({ 'f:spec': { 'f:template': { 'f:spec': fields } } });
const app = { name: 'app', image: 'a:1' };
const sidecar = { name: 'sidecar', image: 's:1' };
const item = (name: string, ...fields: string[]): object => ({
  [`k:{"name":"${name}"}`]: { '.': {}, 'f:name': {}, ...Object.fromEntries(fields.map((field) => [`f:${field}`, {}])) },
});

describe('what we applied server-side before', () => {
  const live = config({ a: '1', b: '2' }, managedEntry(ours, 'Apply', keys('a', 'b')));

  it('is removed by a client-side apply, and predicted', () => {
    const target = config({ a: '1' });
    expect(diffObjects(target, live, rules)).toMatchObject({ modified: true, paths: ['/data/b'] });
    expect(clientSideApplyPatch(target, live)?.body['data']).toEqual({ b: null });
  });

  it('stays where another manager owns it too', () => {
    const shared = config(
      { a: '1', b: '2' },
      managedEntry(ours, 'Apply', keys('a', 'b')),
      managedEntry('x', 'Update', keys('b')),
    );
    expect(diffObjects(config({ a: '1' }), shared, rules).modified).toBe(false);
    expect(clientSideApplyPatch(config({ a: '1' }), shared)?.body['data']).toBeUndefined();
  });

  it('is removed from a list, and the items of others stay', () => {
    const containers = { 'f:containers': { ...item('app', 'image'), ...item('sidecar', 'image') } };
    const three = deployment({
      spec: { containers: [app, sidecar, { name: 'theirs', image: 't:1' }] },
      managedFields: [
        managedEntry(ours, 'Apply', podFields(containers)),
        managedEntry('injector', 'Update', podFields({ 'f:containers': item('theirs', 'image') })),
      ],
    });
    const target = deployment({ spec: { containers: [app] } });
    expect(diffObjects(target, three, rules).modified).toBe(true);
    expect(predictApply(target, three)['spec']).toMatchObject({
      template: { spec: { containers: [app, { name: 'theirs' }] } },
    });
  });

  it('is removed from a struct of which others own a part', () => {
    const context = (...names: string[]): object =>
      podFields({ 'f:securityContext': Object.fromEntries(names.map((name) => [`f:${name}`, {}])) });
    const both = deployment({
      spec: { containers: [app], securityContext: { runAsUser: 0, fsGroup: 3 } },
      managedFields: [
        managedEntry(ours, 'Apply', context('runAsUser')),
        managedEntry('x', 'Update', context('fsGroup')),
      ],
    });
    const after = predictApply(deployment({ spec: { containers: [app] } }), both);
    expect(after['spec']).toMatchObject({ template: { spec: { securityContext: { fsGroup: 3 } } } });
    expect(JSON.stringify(after['spec'])).not.toContain('runAsUser');
  });
});

describe('what we created or replaced before', () => {
  const live = config({ a: '1', b: '2' }, managedEntry(ours, 'Update', keys('a', 'b')));
  const byArgo = config({ a: '1', b: '2' }, managedEntry('argocd-application-controller', 'Update', keys('a', 'b')));

  it('is removed by a replacement, and by an object that says Replace=true itself', () => {
    for (const present of [live, byArgo]) {
      expect(diffObjects(config({ a: '1' }), present, { ...rules, replace: true }).paths).toEqual(['/data/b']);
      const own = config({ a: '1' });
      const metadata = { ...own.metadata, annotations: { [annotations.syncOptions]: 'Replace=true' } };
      expect(diffObjects({ ...own, metadata }, present, rules).paths).toContain('/data/b');
    }
  });

  it('is removed by an apply without last-applied, and not where others created it', () => {
    expect(diffObjects(config({ a: '1' }), live, rules).paths).toEqual(['/data/b']);
    const helm = config({ a: '1', b: '2' }, managedEntry('helm', 'Update', keys('a', 'b')));
    expect(diffObjects(config({ a: '1' }), helm, rules).modified).toBe(false);
    expect(diffObjects(config({ a: '1' }), helm, { ...rules, replace: true }).modified).toBe(false);
  });

  it('is also what kubectl applied and we replaced since: that write owns only what it changed', () => {
    const kubectl = managedEntry('kubectl-client-side-apply', 'Update', keys('a', 'b'));
    const scaled = managedEntry('kubectl-client-side-apply', 'Update', keys('b'), { subresource: 'status' });
    for (const how of [rules, { ...rules, replace: true }]) {
      expect(diffObjects(config({ a: '1' }), config({ a: '1', b: '2' }, kubectl), how).paths).toEqual(['/data/b']);
      expect(diffObjects(config({ a: '1' }), config({ a: '1', b: '2' }, scaled), how).modified).toBe(false);
      const helm = managedEntry('helm', 'Update', keys('b'));
      expect(diffObjects(config({ a: '1' }), config({ a: '1', b: '2' }, kubectl, helm), how).modified).toBe(false);
    }
  });

  it('does not remove the defaults that the server added', () => {
    const stored = { containers: [app], restartPolicy: 'Always', dnsPolicy: 'ClusterFirst', schedulerName: 'x' };
    const fields = podFields({
      'f:containers': item('app', 'image'),
      'f:restartPolicy': {},
      'f:dnsPolicy': {},
      'f:schedulerName': {},
      'f:fieldOfANewerServer': {},
    });
    const present = deployment({
      spec: { ...stored, fieldOfANewerServer: 'y' },
      managedFields: [managedEntry(ours, 'Update', fields)],
    });
    const result = diffObjects(deployment({ spec: { containers: [app] } }), present, { ...rules, replace: true });
    expect(result.paths).toEqual(['/spec/template/spec/schedulerName']);
  });

  it('becomes ours before a server-side apply, which then removes it', () => {
    const serverSide = { ...rules, serverSideApply: true };
    const target = config({ a: '1' });
    expect(diffObjects(target, live, { ...serverSide, adoptFrom: 'kubectl-client-side-apply' }).paths).toEqual([
      '/data/b',
    ]);
    expect(diffObjects(target, live, serverSide).modified).toBe(false);
  });
});

describe('a last-applied annotation that does not count', () => {
  const noted = (text: string): KubeObject => {
    const live = config({ a: '1', b: '2' });
    return { ...live, metadata: { ...live.metadata, annotations: { [annotations.lastApplied]: text } } };
  };
  const manifest = (over: object): string =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace: 'apps' },
      data: { b: '2' },
      ...over,
    });

  it.each([
    ['is cut off', manifest({}).slice(0, -20), 'is not a JSON object'],
    ['is of another object', manifest({ metadata: { name: 'other' } }), 'is of ConfigMap/other'],
    ['is of another kind', manifest({ kind: 'Secret' }), 'is of Secret/a'],
    ['is of another namespace', manifest({ metadata: { name: 'a', namespace: 'other' } }), 'is of ConfigMap/a'],
    ['is of another group', manifest({ apiVersion: 'x.io/v1' }), 'is of ConfigMap/a'],
  ])('removes nothing when it %s, and is named', (_what, text, lastAppliedFault) => {
    const live = noted(text);
    expect(diffObjects(config({ a: '1' }), live, rules)).toMatchObject({ modified: false, lastAppliedFault });
    expect(clientSideApplyPatch(config({ a: '1' }), live)?.body['data']).toBeUndefined();
  });

  it('removes what it names when it is of the object', () => {
    expect(diffObjects(config({ a: '1' }), noted(manifest({})), rules).paths).toEqual(['/data/b']);
  });
});

describe('stringData of a Secret', () => {
  const secret = (parts: object, metadata: object = {}): KubeObject =>
    kube({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'apps', ...metadata }, ...parts });
  const stored = { data: { a: 'eA==', b: 'eQ==' } };

  it('is sent and removed as data', () => {
    const last = JSON.stringify(secret({ stringData: { a: 'x', b: 'y' } }));
    const live = secret(stored, { annotations: { [annotations.lastApplied]: last } });
    for (const target of [secret({ stringData: { a: 'x' } }), secret({ data: { a: 'eA==' } })]) {
      expect(diffObjects(target, live, rules).paths).toEqual(['/data/b']);
      const body = clientSideApplyPatch(target, live)?.body;
      expect(body).toMatchObject({ data: { b: null } });
      expect(body).not.toHaveProperty('stringData');
    }
    expect(serverSideTarget(secret({ stringData: { a: 'x' } }), null)).toEqual(secret({ data: { a: 'eA==' } }));
  });

  it('is removed by a server-side apply of what an earlier one sent as stringData', () => {
    const fields = { 'f:stringData': { 'f:a': {}, 'f:b': {} } };
    const live = secret(stored, { managedFields: [managedEntry(ours, 'Apply', fields)] });
    const serverSide = { ...rules, serverSideApply: true, adoptFrom: 'kubectl-client-side-apply' };
    expect(diffObjects(secret({ stringData: { a: 'x' } }), live, serverSide).paths).toEqual(['/data/b']);
  });

  it('stays as it is for the server to refuse when it is no map of strings', () => {
    expect(serverSideTarget(secret({ stringData: 'x' }), null)).toEqual(secret({ stringData: 'x' }));
  });
});

describe('the service account of a pod template', () => {
  const accounts = { serviceAccountName: 'a', serviceAccount: 'a' };
  const target = deployment({ spec: { containers: [app] } });

  it('is removed with its deprecated twin, client-side', () => {
    const last = JSON.stringify(deployment({ spec: { containers: [app], serviceAccountName: 'a' } }));
    const live = deployment({ spec: { containers: [app], ...accounts }, notes: { [annotations.lastApplied]: last } });
    expect(diffObjects(target, live, rules).modified).toBe(true);
    expect(JSON.stringify(predictApply(target, live)['spec'])).not.toContain('serviceAccount');
  });

  it.each([
    ['serviceAccountName', 'serviceAccount'],
    ['serviceAccount', 'serviceAccountName'],
  ])('is removed by an empty twin after a server-side apply of %s', (sent, twin) => {
    const fields = podFields({ [`f:${sent}`]: {}, 'f:containers': item('app', 'image') });
    const live = deployment({
      spec: { containers: [app], ...accounts },
      managedFields: [managedEntry(ours, 'Apply', fields)],
    });
    expect(serverSideTarget(target, live)['spec']).toMatchObject({ template: { spec: { [twin]: '' } } });
    const { predictedLive, modified } = diffObjects(target, live, { ...rules, serverSideApply: true });
    expect(modified).toBe(true);
    expect(JSON.stringify(predictedLive?.['spec'])).not.toContain('serviceAccount');
  });

  it('stays when another manager set it', () => {
    const live = deployment({
      spec: { containers: [app], ...accounts },
      managedFields: [
        managedEntry('kubectl-set', 'Update', podFields({ 'f:serviceAccountName': {}, 'f:serviceAccount': {} })),
      ],
    });
    expect(serverSideTarget(target, live)).toEqual(target);
    expect(diffObjects(target, live, { ...rules, serverSideApply: true }).modified).toBe(false);
  });
});

describe('an item of ours under another key', () => {
  const service = (...ports: object[]): KubeObject =>
    kube({ apiVersion: 'v1', kind: 'Service', metadata: { name: 's', namespace: 'apps' }, spec: { ports } });

  it.each([
    ['a Service port', service({ name: 'http', port: 80 }), service({ name: 'http', port: 81 })],
    ['the only Service port, without a name', service({ port: 80 }), service({ port: 81 })],
    [
      'a container port',
      deployment({ spec: { containers: [{ ...app, ports: [{ name: 'http', containerPort: 80 }] }] } }),
      deployment({ spec: { containers: [{ ...app, ports: [{ name: 'http', containerPort: 81 }] }] } }),
    ],
  ])('is replaced: %s', (_what, target, live) => {
    expect(JSON.stringify(predictApply(target, live)['spec'])).toEqual(JSON.stringify(target['spec']));
    expect(JSON.stringify(displacedItemsPatch(target, live))).toContain('81');
    expect(displacedItemsPatch(target, target)).toBeUndefined();
  });

  it('is replaced before a server-side apply also when only its protocol was edited', () => {
    const [target, live] = ['TCP', 'UDP'].map((protocol) => service({ name: 'dns', port: 53, protocol }));
    expect(displacedItemsPatch(target!, live!)?.body).toMatchObject({
      spec: { ports: [{ port: 53, protocol: 'TCP' }] },
    });
    const both = service({ name: 'dns', port: 53 }, { name: 'other', port: 53, protocol: 'UDP' });
    expect(displacedItemsPatch(both, both)).toBeUndefined();
  });

  it('stays when it has a name of its own', () => {
    const [target, live] = [
      service({ name: 'http', port: 80 }),
      service({ name: 'http', port: 80 }, { name: 'x', port: 81 }),
    ];
    expect(displacedItemsPatch(target, live)).toBeUndefined();
    expect(predictApply(target, live)['spec']).toMatchObject({ ports: [{ port: 80 }, { name: 'x' }] });
  });
});

describe('a default that excludes what Git wants', () => {
  const of = (strategy?: object): KubeObject =>
    kube({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd', namespace: 'apps' }, spec: { strategy } });
  const rolling = { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } };

  it.each([{}, { rollingUpdate: null }])(
    'is removed before a server-side apply, which would be refused, by Recreate with %j',
    (more) => {
      const body = displacedItemsPatch(of({ type: 'Recreate', ...more }), of(rolling))?.body;
      expect(body).toMatchObject({ spec: { strategy: { type: 'Recreate' } } });
      expect(JSON.stringify(body)).toMatch(/"\$retainKeys":\["type"\]|"rollingUpdate":null/);
    },
  );

  it.each([{}, { type: 'RollingUpdate' }, { rollingUpdate: { maxSurge: 1 } }, rolling])(
    'stays where it is the default of the manifest: %j',
    (strategy) => {
      expect(displacedItemsPatch(of(strategy), of(rolling))).toBeUndefined();
    },
  );
});

describe('a null in a map of strings', () => {
  it('is an empty string for a replacement', () => {
    const replacing = { ...rules, replace: true };
    const live = (data: object): KubeObject => config(data, managedEntry(ours, 'Update', keys('a', 'zz')));
    const target = config({ a: '1', zz: null });
    expect(diffObjects(target, live({ a: '1', zz: '' }), replacing).modified).toBe(false);
    expect(diffObjects(target, live({ a: '1', zz: '2' }), replacing).paths).toEqual(['/data/zz']);
    expect(predictApply(target, live({ a: '1' }), 'replace')['data']).toEqual({ a: '1', zz: '' });
  });

  it('is an empty string for a server-side apply', () => {
    const fields = managedEntry(ours, 'Apply', keys('a', 'zz'));
    const target = config({ a: '1', zz: null });
    const serverSide = { ...rules, serverSideApply: true };
    expect(diffObjects(target, config({ a: '1', zz: '' }, fields), serverSide).modified).toBe(false);
    expect(diffObjects(target, config({ a: '1' }, managedEntry(ours, 'Apply', keys('a'))), serverSide).modified).toBe(
      true,
    );
  });
});
