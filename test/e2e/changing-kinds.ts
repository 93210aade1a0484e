import type { JsonObject } from '#base';
import { readOpenApi } from '#diff';
import { findResource } from '#kube';
import type { KubeClient } from '#kube';
import type { LiveSchemas } from '#live';
import { eventually } from '#support';
import type { Manifest } from './synced-object.ts';

const group = 'changing.example.com';
const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

const waitMs = 60_000;

interface CrdWriter {
  create(path: string, object: object): Promise<unknown>;
  patch(path: string, body: object): Promise<unknown>;
}

export const text = { type: 'string' };
export const atomic = { 'x-kubernetes-list-type': 'atomic' };
export const byName = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] };

export function listOf(
  type: object,
  properties: object = { name: text, value: text },
  required: readonly string[] = ['name'],
): object {
  const items = { type: 'object', required, properties };
  return { type: 'array', items, ...type };
}

export function versionWith(name: string, storage: boolean, properties: object, description = ''): object {
  const spec = { type: 'object', properties };
  const openAPIV3Schema = { type: 'object', description, properties: { spec } };
  return { name, served: true, storage, schema: { openAPIV3Schema } };
}

/** Kinds of custom resources whose definitions change. */
export class ChangingKinds {
  readonly #client: KubeClient;
  readonly #api: CrdWriter;
  readonly #signal: AbortSignal;
  #count = 0;

  constructor(client: KubeClient, api: CrdWriter, signal: AbortSignal) {
    this.#client = client;
    this.#api = api;
    this.#signal = signal;
  }

  /** A kind of its own for each case. */
  async define(versions: readonly object[], more: object = {}): Promise<ChangingKind> {
    this.#count += 1;
    const [singular, kind] = [`thing${this.#count}`, `Thing${this.#count}`];
    const plural = `${singular}s`;
    const names = { kind, singular, plural, listKind: `${kind}List` };
    await this.#api.create(crds, {
      metadata: { name: `${plural}.${group}` },
      spec: { group, scope: 'Namespaced', names, versions, ...more },
    });
    await eventually(async () => {
      const discovery = await this.#client.discover({ signal: this.#signal });
      if (findResource(discovery, { group, kind }) === undefined) throw new Error('not served');
    }, waitMs);
    return new ChangingKind(kind, { client: this.#client, api: this.#api, signal: this.#signal });
  }
}

interface ChangingKindDeps {
  readonly client: KubeClient;
  readonly api: CrdWriter;
  readonly signal: AbortSignal;
}

export class ChangingKind {
  readonly #kind: string;
  readonly #deps: ChangingKindDeps;

  constructor(kind: string, deps: ChangingKindDeps) {
    this.#kind = kind;
    this.#deps = deps;
  }

  manifest(spec: JsonObject, version = 'v1'): Manifest {
    const metadata = { name: 'a', namespace: 'cases' };
    return () => ({ apiVersion: `${group}/${version}`, kind: this.#kind, metadata, spec });
  }

  /** Changes the versions, and waits until a dry run of a write obeys them. */
  async redefine(versions: readonly object[], isObeyed: () => Promise<boolean>): Promise<void> {
    await this.#deps.api.patch(`${crds}/${this.#kind.toLowerCase()}s.${group}`, { spec: { versions } });
    await eventually(async () => {
      if (!(await isObeyed())) throw new Error('the former schema is still in force');
    }, waitMs);
  }

  /** Changes the properties of v1. Returns its schemas when the server publishes them. */
  async reshape(properties: object, isObeyed: () => Promise<boolean>): Promise<LiveSchemas> {
    const mark = `changed ${this.#kind}.`;
    await this.redefine([versionWith('v1', true, properties, mark)], isObeyed);
    return this.schemas(mark);
  }

  /** The published schemas, as soon as they contain a text. */
  schemas(mark = `"${this.#kind}"`): Promise<LiveSchemas> {
    return eventually(() => this.#published(mark), waitMs);
  }

  async #published(mark: string): Promise<LiveSchemas> {
    const { client, signal } = this.#deps;
    const path = `apis/${group}/v1`;
    const hash = (await client.openApiIndex({ signal })).get(path) ?? '';
    const document = await client.openApiDocument(path, hash, { signal });
    if (!JSON.stringify(document).includes(mark)) throw new Error('the former schema is still published');
    return { version: mark, kinds: readOpenApi(document) };
  }
}
