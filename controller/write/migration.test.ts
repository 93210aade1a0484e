import { describe, expect, it } from '@jest/globals';
import type { Json, JsonObject } from '#base';
import { KubeApiError } from '#kube';
import type { KubeClient } from '#kube';
import type { ApiResource, KubeObject } from '#model';
import { migrateBeforeApply } from './migration.ts';

const { signal } = new AbortController();
const [old, now] = ['x.io/v1beta1', 'x.io/v1'];
const items = (...names: readonly string[]): Json => names.map((name) => ({ name }));
const entry = (fieldsV1: JsonObject, apiVersion = now): JsonObject => {
  return { manager: 'argocd-controller', operation: 'Apply', apiVersion, fieldsType: 'FieldsV1', fieldsV1 };
};
const item = { '.': {}, 'f:name': {} };
const keyed = { 'f:spec': { 'f:list': { 'k:{"name":"a"}': item } } };
const both = { 'f:spec': { 'f:list': { 'k:{"name":"a"}': item, 'k:{"name":"b"}': item } } };
const whole = { 'f:spec': { 'f:list': {} } };
const thing = (list: Json, ...managedFields: JsonObject[]): KubeObject => {
  const metadata = { name: 'a', namespace: 'n', resourceVersion: '7', managedFields };
  return { apiVersion: now, kind: 'Thing', metadata, spec: { list } };
};
const list = { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] };
const published = {
  components: {
    schemas: {
      thing: {
        'x-kubernetes-group-version-kind': [{ group: 'x.io', version: 'v1', kind: 'Thing' }],
        properties: { spec: { properties: { list } } },
      },
    },
  },
} as unknown as Json;
const refusal = new KubeApiError(
  { code: 500, reason: 'InternalError', message: 'request to convert CR to an invalid group/version' },
  'PATCH things',
);

/** The managed fields that the migration writes; undefined: it writes nothing. */
async function written(live: KubeObject, target: Json, predict: () => KubeObject): Promise<Json | undefined> {
  let sent: Json | undefined;
  const client = {
    patch: (_resource: ApiResource, _name: object, { body }: { readonly body: Json }) => {
      sent = (body as readonly JsonObject[])[0]?.['value'];
      return Promise.resolve(live);
    },
    openApiIndex: () => Promise.resolve(new Map([['apis/x.io/v1', 'h']])),
    openApiDocument: () => Promise.resolve(published),
  } as unknown as KubeClient;
  const deps = {
    client,
    fieldManager: 'argocd-controller',
    read: () => Promise.resolve(live),
    write: <T>(_signal: AbortSignal, send: (call: never) => Promise<T>) => send({} as never),
  };
  const apply = {
    target: thing(target),
    live,
    from: undefined,
    predict: () => Promise.resolve().then(predict),
    isServed: (apiVersion: string) => apiVersion === now,
  };
  const place = { resource: {} as ApiResource, name: { namespace: 'n', name: 'a' } };
  await migrateBeforeApply(deps, place, apply, signal);
  return sent;
}

describe('before a server-side apply', () => {
  const live = thing(items('a', 'b'), entry(whole));
  const fail = (): never => {
    throw refusal;
  };

  it('our entry gets the items of a list that a dry run shows to be keyed now', async () => {
    expect(await written(live, items('a'), () => thing(items('a', 'b'), entry(keyed)))).toEqual([entry(both)]);
  });

  it('our entry stays where the list is still atomic', async () => {
    expect(await written(live, items('a'), () => thing(items('a'), entry(whole)))).toBeUndefined();
  });

  it('the published schema decides where the server refuses the dry run', async () => {
    expect(await written(live, items('a'), fail)).toEqual([entry(both)]);
  });

  it('nothing is asked where nothing of a list is dropped', async () => {
    const asked = (): never => {
      throw new TypeError('asked');
    };
    expect(await written(live, items('a', 'b'), asked)).toBeUndefined();
    await expect(written(live, items('a'), asked)).rejects.toThrow('asked');
  });

  it('an entry of a version that is gone moves, if the server refuses an apply for it', async () => {
    const gone = thing(items('a'), entry(keyed, old));
    expect(await written(gone, items('a'), fail)).toEqual([entry(keyed)]);
    expect(await written(gone, items('a'), () => thing(items('a'), entry(keyed)))).toBeUndefined();
  });
});
