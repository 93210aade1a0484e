import { expect } from '@jest/globals';
import type { JsonObject } from '#base';
import { findResource } from '#kube';
import type { KubeClient } from '#kube';
import type { LiveSchemas } from '#live';
import { gkOf, versionOf } from '#model';
import type { ApiResource, KubeObject } from '#model';
import { ObjectSync } from '../../controller/testing/index.ts';
import type { SyncMethod } from '../../controller/testing/index.ts';
import { createWith, isOtherTool } from '../removal/first-sync.ts';
import type { FirstSync } from '../removal/first-sync.ts';

export type Manifest = () => KubeObject;

/** One object on a real server, as the controller and others change it. */
export class SyncedObject {
  readonly #client: KubeClient;
  readonly #signal: AbortSignal;
  #sync: ObjectSync;
  readonly #method: SyncMethod;
  #live: KubeObject | null = null;

  private constructor(client: KubeClient, sync: ObjectSync, method: SyncMethod, signal: AbortSignal) {
    this.#client = client;
    this.#sync = sync;
    this.#method = method;
    this.#signal = signal;
  }

  static async begin(client: KubeClient, method: SyncMethod, signal: AbortSignal): Promise<SyncedObject> {
    const discovery = await client.discover({ signal });
    const sync = new ObjectSync({ client, discovery, schemas: undefined, signal });
    return new SyncedObject(client, sync, method, signal);
  }

  get live(): KubeObject {
    if (this.#live === null) throw new Error('the object was not created');
    return this.#live;
  }

  /** Compares by schemas that the server publishes, as the controller does. */
  async describe(schemas: LiveSchemas): Promise<void> {
    const discovery = await this.#client.discover({ signal: this.#signal });
    this.#sync = new ObjectSync({ client: this.#client, discovery, schemas, signal: this.#signal });
  }

  /** Creates the object. */
  async first(how: FirstSync, object: Manifest): Promise<void> {
    const target = this.#sync.target(object());
    const signal = this.#signal;
    this.#live = isOtherTool(how)
      ? await createWith(this.#client, how, { resource: await this.#resource(target), object: target, signal })
      : await this.#sync.sync(target, null, how);
  }

  /** Reads the object again, which another schema or version may serve differently. */
  async read(version = versionOf(this.live.apiVersion)): Promise<KubeObject> {
    const { name = '', namespace = '' } = this.live.metadata;
    const found = await this.#client.get(
      await this.#resource(this.live, version),
      { name, namespace },
      { signal: this.#signal },
    );
    this.#live = found;
    return found;
  }

  /** A write by another client; a dry run changes nothing. */
  async patch(
    fieldManager: string,
    body: JsonObject,
    type: 'merge' | 'strategic' | 'apply' = 'merge',
    dryRun = false,
  ): Promise<KubeObject> {
    const { apiVersion, kind, metadata } = this.live;
    const { name = '', namespace = '' } = metadata;
    const sent = type === 'apply' ? { apiVersion, kind, metadata: { name }, ...body } : body;
    const stored = await this.#client.patch(
      await this.#resource(this.live),
      { name, namespace },
      { type, body: sent as JsonObject & KubeObject },
      { signal: this.#signal, fieldManager, dryRun },
    );
    if (!dryRun) this.#live = stored;
    return stored;
  }

  /** The sync status by the local comparison, and by the server-side one. */
  async statuses(object: Manifest): Promise<readonly string[]> {
    const target = this.#sync.target(object());
    const [kinds, live] = [['local', 'server'] as const, this.live];
    const compared = await Promise.all(
      kinds.map((kind) => this.#sync.compare(target, live, { method: this.#method, kind })),
    );
    return compared.map(({ syncStatus }) => syncStatus.status);
  }

  /** The sync status by the local comparison alone. */
  async localStatus(object: Manifest): Promise<string> {
    const how = { method: this.#method, kind: 'local' } as const;
    return (await this.#sync.compare(this.#sync.target(object()), this.live, how)).syncStatus.status;
  }

  /** The conditions of a comparison after a sync. */
  async conditions(object: Manifest): Promise<readonly string[]> {
    const target = this.#sync.target(object());
    const compared = await this.#sync.compare(target, this.live, { method: this.#method, kind: 'local' });
    return this.#sync.conditionsAfter(compared, this.live).map(({ message }) => message);
  }

  async sync(object: Manifest): Promise<KubeObject> {
    this.#live = await this.#sync.sync(this.#sync.target(object()), this.#live, this.#method);
    return this.#live;
  }

  /** Syncs a change that both comparisons see before it, and not after it. */
  async changed(object: Manifest): Promise<KubeObject> {
    expect(await this.statuses(object)).toEqual(['OutOfSync', 'OutOfSync']);
    return this.settled(object);
  }

  /** Syncs, after which both comparisons see no difference. */
  async settled(object: Manifest): Promise<KubeObject> {
    const stored = await this.sync(object);
    expect(await this.statuses(object)).toEqual(['Synced', 'Synced']);
    return stored;
  }

  /** A status by another controller, at a version of its own. */
  async writeStatus(status: JsonObject, version: string): Promise<void> {
    const resource = await this.#resource(this.live, version);
    const { name = '', namespace = '' } = this.live.metadata;
    const patch = { type: 'merge', body: { status } } as const;
    const options = { signal: this.#signal, fieldManager: 'operator', subresource: 'status' } as const;
    await this.#client.patch(resource, { name, namespace }, patch, options);
    await this.read();
  }

  async #resource(object: KubeObject, version = versionOf(object.apiVersion)): Promise<ApiResource> {
    const discovery = await this.#client.discover({ signal: this.#signal });
    const resource = findResource(discovery, gkOf(object), version);
    if (resource === undefined) throw new Error(`${object.kind} is not served`);
    return resource;
  }
}
