import { describe, expect, it } from '@jest/globals';
import { valueAt } from '#base';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { createSchemaBook } from './book.ts';
import * as samples from './samples.ts';
import { withChange, kindIn, widgetSample, widgetKind } from './samples.ts';

const book = createSchemaBook();
const decode = (object: KubeObject) => book.decode(kindIn(book, object.kind), object);
const container = (members: Json): Json => ({ spec: { template: { spec: { containers: [members] } } } });

describe('decoding a built-in object', () => {
  it.each<[string, KubeObject, Json, readonly string[]]>([
    ['a member of spec', samples.deploymentSample, { spec: { foo: 1 } }, ['spec.foo']],
    ['a member of metadata', samples.deploymentSample, { metadata: { foo: 1 } }, ['metadata.foo']],
    ['a member at the root', samples.deploymentSample, { foo: 1 }, ['foo']],
    ['a wrong case', samples.deploymentSample, { Spec: {} }, ['Spec']],
    [
      'inside a list',
      samples.deploymentSample,
      container({ name: 'a', image: 'b', foo: 1, ports: [{ containerPort: 1, bar: 2 }] }),
      ['spec.template.spec.containers[0].foo', 'spec.template.spec.containers[0].ports[0].bar'],
    ],
    ['in the data of a service', samples.serviceSample, { spec: { port: 80 } }, ['spec.port']],
  ])('reports and drops unknown fields: %s', (_what, object, change, fields) => {
    const result = decode(withChange(object, change));
    expect(result.unknownFields).toEqual(fields.map((field) => `unknown field "${field}"`));
    expect(result.typeError).toBeUndefined();
    const [first = ''] = fields;
    const path = first.split(/[.[\]]+/).filter((step) => step !== '');
    expect(valueAt(result.object as Json, ...path)).toBeUndefined();
  });

  it.each<[string, KubeObject, Json, string]>([
    [
      'string for int32',
      samples.deploymentSample,
      { spec: { replicas: '1' } },
      'json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'fraction for int32',
      samples.deploymentSample,
      { spec: { replicas: 1.5 } },
      'json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'too big for int32',
      samples.deploymentSample,
      { spec: { replicas: 3_000_000_000 } },
      'json: cannot unmarshal number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'number as a label',
      samples.deploymentSample,
      { metadata: { labels: { a: 1 } } },
      'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string',
    ],
    [
      'bool as an annotation',
      samples.deploymentSample,
      { metadata: { annotations: { a: true } } },
      'json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.annotations of type string',
    ],
    [
      'object for a list',
      samples.deploymentSample,
      { spec: { template: { spec: { containers: {} } } } },
      'json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container',
    ],
    [
      'array for an object',
      samples.deploymentSample,
      { spec: [] },
      'json: cannot unmarshal array into Go struct field Deployment.spec of type v1.DeploymentSpec',
    ],
    [
      'string for a bool',
      samples.podSample,
      { spec: { hostNetwork: 'yes' } },
      'json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool',
    ],
    [
      'number for a named string',
      samples.deploymentSample,
      container({ name: 'a', imagePullPolicy: 1 }),
      'json: cannot unmarshal number into Go struct field Container.spec.template.spec.containers.imagePullPolicy of type v1.PullPolicy',
    ],
    [
      'string for a map',
      samples.configMapSample,
      { data: 'x' },
      'json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string',
    ],
    [
      'number for env value',
      samples.deploymentSample,
      container({ name: 'a', env: [{ name: 'A', value: 1 }] }),
      'json: cannot unmarshal number into Go struct field EnvVar.spec.template.spec.containers.env.value of type string',
    ],
    ['no base64', samples.secretSample, { data: { a: '@@@@' } }, 'illegal base64 data at input byte 0'],
    ['base64 cut short', samples.secretSample, { data: { a: 'YWJjZA' } }, 'illegal base64 data at input byte 4'],
    [
      'no quantity',
      samples.deploymentSample,
      container({ name: 'a', resources: { limits: { cpu: 'much' } } }),
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
    [
      'bool for an int-or-string',
      samples.serviceSample,
      { spec: { ports: [{ port: 1, targetPort: true }] } },
      'json: cannot unmarshal bool into Go value of type int32',
    ],
    [
      'no time',
      samples.podSample,
      { metadata: { deletionTimestamp: 'soon' } },
      'parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006"',
    ],
  ])('rejects wrong types: %s', (_what, object, change, text) => {
    expect(decode(withChange(object, change)).typeError).toBe(text);
  });

  it.each<[string, KubeObject, Json, readonly (string | number)[], Json | undefined]>([
    [
      'quantities',
      samples.claimSample,
      { spec: { resources: { requests: { storage: '1024Mi' } } } },
      ['spec', 'resources', 'requests', 'storage'],
      '1Gi',
    ],
    [
      'quantities that are numbers',
      samples.claimSample,
      { spec: { resources: { requests: { storage: 2 } } } },
      ['spec', 'resources', 'requests', 'storage'],
      '2',
    ],
    [
      'times',
      samples.podSample,
      { metadata: { creationTimestamp: '2024-05-01T12:00:00.5+02:00' } },
      ['metadata', 'creationTimestamp'],
      '2024-05-01T10:00:00Z',
    ],
    [
      'a false that says nothing',
      samples.podSample,
      { spec: { hostNetwork: false } },
      ['spec', 'hostNetwork'],
      undefined,
    ],
    [
      'a false behind a pointer',
      samples.podSample,
      { spec: { automountServiceAccountToken: false } },
      ['spec', 'automountServiceAccountToken'],
      false,
    ],
    ['a zero behind a pointer', samples.deploymentSample, { spec: { replicas: 0 } }, ['spec', 'replicas'], 0],
    ['an empty map', samples.podSample, { metadata: { labels: {} } }, ['metadata', 'labels'], undefined],
    [
      'an integer beyond 2^53',
      samples.deploymentSample,
      { metadata: { generation: 9007199254740993n } },
      ['metadata', 'generation'],
      9007199254740993n,
    ],
  ])('formats values as Go does: %s', (_what, object, change, path, expected) => {
    expect(valueAt(decode(withChange(object, change)).object as Json, ...path)).toEqual(expected);
  });

  it('drops nulls, and keeps null map values as empty strings', () => {
    const object = { ...samples.configMapSample, data: { a: null }, metadata: { name: 'x', creationTimestamp: null } };
    const decoded = decode(object).object;
    expect(decoded['data']).toEqual({ a: '' });
    expect(decoded.metadata).toEqual({ name: 'x' });
  });

  it('does not add unset fields: those come with the defaults', () => {
    const spec = { replicas: 1 };
    const partial = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'x' }, spec } as KubeObject;
    expect(decode(partial).object).toEqual(partial);
  });

  it('decodes CRD schemas, which contain themselves', () => {
    const schema = { type: 'object', properties: { a: { type: 'array', items: { type: 'string', oops: 1 } } } };
    const crd = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'as.example.com' },
      spec: { versions: [{ name: 'v1', schema: { openAPIV3Schema: schema } }] },
    } as unknown as KubeObject;
    expect(decode(crd).unknownFields).toEqual([
      'unknown field "spec.versions[0].schema.openAPIV3Schema.properties.a.items.oops"',
    ]);
  });
});

describe('decoding a custom resource', () => {
  const decodeWidget = (change: Json) => book.decode(widgetKind, withChange(widgetSample, change));

  it('prunes and reports unknown fields', () => {
    const result = decodeWidget({ spec: { nope: 1, parts: [{ name: 'a', nope: 2 }] }, extra: 1 });
    expect(result.object).toEqual(withChange(widgetSample, { spec: { parts: [{ name: 'a' }] } }));
    expect(result.unknownFields).toEqual([
      'unknown field "extra"',
      'unknown field "spec.nope"',
      'unknown field "spec.parts[0].nope"',
    ]);
  });

  it('keeps fields under preserve-unknown-fields, additionalProperties and embedded resources', () => {
    const kept = {
      spec: {
        open: { a: { b: [1, null] } },
        labels: { any: 'x' },
        template: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { free: true } },
      },
    };
    const result = decodeWidget(kept);
    expect(result.unknownFields).toEqual([]);
    expect(result.object).toEqual({ ...widgetSample, spec: { ...(widgetSample['spec'] as object), ...kept.spec } });
  });

  it('drops nulls that the schema does not allow', () => {
    const object = { ...widgetSample, spec: { size: 1, name: null, maybe: null } };
    expect(book.decode(widgetKind, object as unknown as KubeObject).object['spec']).toEqual({ size: 1, maybe: null });
  });

  it('decodes metadata as ObjectMeta', () => {
    const result = decodeWidget({ metadata: { nope: 1 } });
    expect(result.unknownFields).toEqual(['unknown field "metadata.nope"']);
    expect(decodeWidget({ metadata: { labels: { a: 1 } } }).typeError).toBe(
      'json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
    );
  });

  it('leaves wrong types to validation', () => {
    expect(decodeWidget({ spec: { size: 'x' } })).toMatchObject({ unknownFields: [], object: { spec: { size: 'x' } } });
  });

  it('keeps everything without a schema', () => {
    const loose = { ...widgetKind };
    Reflect.deleteProperty(loose, 'schema');
    const object = withChange(widgetSample, { spec: { anything: { goes: [1] } } });
    expect(book.decode(loose, object)).toEqual({ object, unknownFields: [] });
  });
});
