import { describe, expect, it } from '@jest/globals';
import { at } from '#base';
import type { Json } from '#base';
import type { KubeObject } from '#model';
import { createSchemaBook } from './book.ts';
import * as samples from './samples.ts';
import { but, kindIn, widget, widgetKind } from './samples.ts';

const book = createSchemaBook();
const decode = (object: KubeObject) => book.decode(kindIn(book, object.kind), object);
const container = (members: Json): Json => ({ spec: { template: { spec: { containers: [members] } } } });

describe('decoding a built-in object', () => {
  it.each<[string, KubeObject, Json, readonly string[]]>([
    ['a member of spec', samples.deployment, { spec: { foo: 1 } }, ['spec.foo']],
    ['a member of metadata', samples.deployment, { metadata: { foo: 1 } }, ['metadata.foo']],
    ['a member at the root', samples.deployment, { foo: 1 }, ['foo']],
    ['a wrong case', samples.deployment, { Spec: {} }, ['Spec']],
    [
      'inside a list',
      samples.deployment,
      container({ name: 'a', image: 'b', foo: 1, ports: [{ containerPort: 1, bar: 2 }] }),
      ['spec.template.spec.containers[0].foo', 'spec.template.spec.containers[0].ports[0].bar'],
    ],
    ['in the data of a service', samples.service, { spec: { port: 80 } }, ['spec.port']],
  ])('reports and drops unknown fields: %s', (_what, object, change, fields) => {
    const result = decode(but(object, change));
    expect(result.unknownFields).toEqual(fields.map((field) => `unknown field "${field}"`));
    expect(result.typeError).toBeUndefined();
    const [first = ''] = fields;
    const path = first.split(/[.[\]]+/).filter((step) => step !== '');
    expect(at(result.object as Json, ...path)).toBeUndefined();
  });

  it.each<[string, KubeObject, Json, string]>([
    [
      'string for int32',
      samples.deployment,
      { spec: { replicas: '1' } },
      'json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'fraction for int32',
      samples.deployment,
      { spec: { replicas: 1.5 } },
      'json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'too big for int32',
      samples.deployment,
      { spec: { replicas: 3_000_000_000 } },
      'json: cannot unmarshal number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32',
    ],
    [
      'number as a label',
      samples.deployment,
      { metadata: { labels: { a: 1 } } },
      'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string',
    ],
    [
      'bool as an annotation',
      samples.deployment,
      { metadata: { annotations: { a: true } } },
      'json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.annotations of type string',
    ],
    [
      'object for a list',
      samples.deployment,
      { spec: { template: { spec: { containers: {} } } } },
      'json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container',
    ],
    [
      'array for an object',
      samples.deployment,
      { spec: [] },
      'json: cannot unmarshal array into Go struct field Deployment.spec of type v1.DeploymentSpec',
    ],
    [
      'string for a bool',
      samples.pod,
      { spec: { hostNetwork: 'yes' } },
      'json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool',
    ],
    [
      'number for a named string',
      samples.deployment,
      container({ name: 'a', imagePullPolicy: 1 }),
      'json: cannot unmarshal number into Go struct field Container.spec.template.spec.containers.imagePullPolicy of type v1.PullPolicy',
    ],
    [
      'string for a map',
      samples.configMap,
      { data: 'x' },
      'json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string',
    ],
    [
      'number for env value',
      samples.deployment,
      container({ name: 'a', env: [{ name: 'A', value: 1 }] }),
      'json: cannot unmarshal number into Go struct field EnvVar.spec.template.spec.containers.env.value of type string',
    ],
    ['no base64', samples.secret, { data: { a: '@@@@' } }, 'illegal base64 data at input byte 0'],
    ['base64 cut short', samples.secret, { data: { a: 'YWJjZA' } }, 'illegal base64 data at input byte 4'],
    [
      'no quantity',
      samples.deployment,
      container({ name: 'a', resources: { limits: { cpu: 'much' } } }),
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
    [
      'bool for an int-or-string',
      samples.service,
      { spec: { ports: [{ port: 1, targetPort: true }] } },
      'json: cannot unmarshal bool into Go value of type int32',
    ],
    [
      'no time',
      samples.pod,
      { metadata: { deletionTimestamp: 'soon' } },
      'parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006"',
    ],
  ])('refuses wrong types: %s', (_what, object, change, text) => {
    expect(decode(but(object, change)).typeError).toBe(text);
  });

  it.each<[string, KubeObject, Json, readonly (string | number)[], Json | undefined]>([
    [
      'quantities',
      samples.claim,
      { spec: { resources: { requests: { storage: '1024Mi' } } } },
      ['spec', 'resources', 'requests', 'storage'],
      '1Gi',
    ],
    [
      'quantities that are numbers',
      samples.claim,
      { spec: { resources: { requests: { storage: 2 } } } },
      ['spec', 'resources', 'requests', 'storage'],
      '2',
    ],
    [
      'times',
      samples.pod,
      { metadata: { creationTimestamp: '2024-05-01T12:00:00.5+02:00' } },
      ['metadata', 'creationTimestamp'],
      '2024-05-01T10:00:00Z',
    ],
    ['a false that says nothing', samples.pod, { spec: { hostNetwork: false } }, ['spec', 'hostNetwork'], undefined],
    [
      'a false behind a pointer',
      samples.pod,
      { spec: { automountServiceAccountToken: false } },
      ['spec', 'automountServiceAccountToken'],
      false,
    ],
    ['a zero behind a pointer', samples.deployment, { spec: { replicas: 0 } }, ['spec', 'replicas'], 0],
    ['an empty map', samples.pod, { metadata: { labels: {} } }, ['metadata', 'labels'], undefined],
    [
      'an integer beyond 2^53',
      samples.deployment,
      { metadata: { generation: 9007199254740993n } },
      ['metadata', 'generation'],
      9007199254740993n,
    ],
  ])('writes values as Go does: %s', (_what, object, change, path, expected) => {
    expect(at(decode(but(object, change)).object as Json, ...path)).toEqual(expected);
  });

  it('drops nulls, and keeps null map values as empty texts', () => {
    const object = { ...samples.configMap, data: { a: null }, metadata: { name: 'x', creationTimestamp: null } };
    const decoded = decode(object).object;
    expect(decoded['data']).toEqual({ a: '' });
    expect(decoded.metadata).toEqual({ name: 'x' });
  });

  it('does not add what the client did not say: that comes with the defaults', () => {
    const spec = { replicas: 1 };
    const partial = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'x' }, spec } as KubeObject;
    expect(decode(partial).object).toEqual(partial);
  });

  it('reads CRD schemas, which contain themselves', () => {
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
  const decodeWidget = (change: Json) => book.decode(widgetKind, but(widget, change));

  it('prunes and reports unknown fields', () => {
    const result = decodeWidget({ spec: { nope: 1, parts: [{ name: 'a', nope: 2 }] }, extra: 1 });
    expect(result.object).toEqual(but(widget, { spec: { parts: [{ name: 'a' }] } }));
    expect(result.unknownFields).toEqual([
      'unknown field "extra"',
      'unknown field "spec.nope"',
      'unknown field "spec.parts[0].nope"',
    ]);
  });

  it('keeps what preserve-unknown-fields, additionalProperties and embedded resources keep', () => {
    const kept = {
      spec: {
        open: { a: { b: [1, null] } },
        labels: { any: 'x' },
        template: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { free: true } },
      },
    };
    const result = decodeWidget(kept);
    expect(result.unknownFields).toEqual([]);
    expect(result.object).toEqual({ ...widget, spec: { ...(widget['spec'] as object), ...kept.spec } });
  });

  it('drops nulls that the schema does not allow', () => {
    const object = { ...widget, spec: { size: 1, name: null, maybe: null } };
    expect(book.decode(widgetKind, object as unknown as KubeObject).object['spec']).toEqual({ size: 1, maybe: null });
  });

  it('reads metadata as ObjectMeta', () => {
    const result = decodeWidget({ metadata: { nope: 1 } });
    expect(result.unknownFields).toEqual(['unknown field "metadata.nope"']);
    expect(decodeWidget({ metadata: { labels: { a: 1 } } }).typeError).toBe(
      'json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
    );
  });

  it('leaves wrong types to validation', () => {
    expect(decodeWidget({ spec: { size: 'x' } })).toMatchObject({ unknownFields: [], object: { spec: { size: 'x' } } });
  });

  it('keeps everything when there is no schema', () => {
    const loose = { ...widgetKind };
    Reflect.deleteProperty(loose, 'schema');
    const object = but(widget, { spec: { anything: { goes: [1] } } });
    expect(book.decode(loose, object)).toEqual({ object, unknownFields: [] });
  });
});
