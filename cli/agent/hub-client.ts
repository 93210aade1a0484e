import { withChild } from '#base';
import { KubeApiError, KubeRequestError } from '#kube';
import type { CallOptions, KubeClient, ListOptions, NamedObject, WatchEvent, WatchOptions, WriteOptions } from '#kube';
import { apiVersionOf, groupOf } from '#model';
import type { ApiResource, KubeObject } from '#model';
import { refusal } from './hub-store.ts';
import type { HubEvent, HubStore } from './hub-store.ts';

/** Shown in messages about the hub. It has no address. */
export const hubServer = 'the hub of this agent';

/**
 * The store as the controller's client, without a network between them. Events are accepted and
 * not kept, because nothing can read them here.
 * @param onAnswer called after each request, as a sign that the hub answers
 */
export function hubClient(store: HubStore, onAnswer: () => void): KubeClient {
  const answer = async <T>({ signal, beforeSend }: CallOptions, body: () => T): Promise<T> => {
    signal.throwIfAborted();
    // Callers may not be ready for an answer before their call returns.
    await Promise.resolve();
    beforeSend?.();
    onAnswer();
    return body();
  };
  const write = async (options: WriteOptions, body: () => KubeObject): Promise<KubeObject> => {
    if (options.dryRun === true || options.subresource !== undefined)
      throw new KubeRequestError(`${hubServer} has no dry runs and no subresources`);
    return answer(options, body);
  };
  const client: KubeClient = {
    server: hubServer,
    get: (resource, at, options) =>
      answer(options, () => {
        const { namespace, name } = at;
        const found = store.get(resource.group, resource.kind, namespace, name);
        if (found === undefined) throw refusal(404, 'NotFound', headOf(resource, at), 'not found');
        return found;
      }),
    list: (resource, options) =>
      answer(options, () => ({
        items: store.list(resource.group, resource.kind).filter(selectorOf(options)),
        resourceVersion: String(store.version),
      })),
    create: (resource, object, options) =>
      write(options, () => (resource.kind === 'Event' ? object : store.create(object))),
    replace: (_resource, object, options) => write(options, () => store.update(object)),
    patch: (resource, at, { type, body }, options) => {
      if (type !== 'merge' && type !== 'json') throw new KubeRequestError(`${hubServer} takes no ${type} patches`);
      return write(options, () => store.patch(headOf(resource, at), type, body));
    },
    delete: (resource, at, options) => answer(options, () => store.delete(headOf(resource, at, options.preconditions))),
    watch: (resource, options) => watchStore(store, resource, options),
    mayList: (_resource, _namespace, options) => answer(options, () => true),
    version: (options) => answer(options, () => hubServer),
    podLog: () => unsupported('logs'),
    discover: () => unsupported('discovery'),
    openApiIndex: () => unsupported('schemas'),
    openApiDocument: () => unsupported('schemas'),
    impersonate: () => client,
    updateCredentials: () => undefined,
    close: () => Promise.resolve(),
  };
  return client;
}

function unsupported(what: string): Promise<never> {
  return Promise.reject(new KubeRequestError(`${hubServer} has no ${what}`));
}

function headOf(
  { group, version, kind }: ApiResource,
  { namespace, name }: NamedObject,
  preconditions: { readonly uid?: string; readonly resourceVersion?: string } = {},
): KubeObject {
  return { apiVersion: apiVersionOf(group, version), kind, metadata: { ...preconditions, namespace, name } };
}

type Selection = Pick<ListOptions, 'namespace' | 'labelSelector' | 'fieldSelector'>;

/** @throws KubeRequestError for a selector that the controller does not use on its hub */
function selectorOf({ namespace, labelSelector, fieldSelector }: Selection): (object: KubeObject) => boolean {
  const [, name] = fieldSelector === undefined ? [] : matched(/^metadata\.name=([^,=]+)$/, fieldSelector);
  const [, label = '', value, values] =
    labelSelector === undefined ? [] : matched(/^([^,=!\s]+)(?:=([^,=]+)| in \(([^()]+)\))$/, labelSelector);
  const accepted = value === undefined ? values?.split(',') : [value];
  return ({ metadata }) =>
    (namespace === undefined || metadata.namespace === namespace) &&
    (name === undefined || metadata.name === name) &&
    (accepted === undefined || accepted.includes(metadata.labels?.[label] ?? ''));
}

function matched(pattern: RegExp, selector: string): readonly (string | undefined)[] {
  const found = pattern.exec(selector);
  if (found === null) throw new KubeRequestError(`${hubServer} does not know the selector ${selector}`);
  return found;
}

/** A watch that never ends by itself. */
async function* watchStore(
  store: HubStore,
  { group, kind }: ApiResource,
  options: WatchOptions,
): AsyncGenerator<WatchEvent> {
  const { signal, onOpen, resourceVersion, sendInitialEvents } = options;
  if (sendInitialEvents === true) throw new KubeRequestError(`${hubServer} does not stream lists`);
  const from = Number(resourceVersion);
  if (from < store.deletedAt)
    throw new KubeApiError({ code: 410, reason: 'Expired', message: 'too old resource version' }, `watch of ${kind}`);
  const isSelected = selectorOf(options);
  const missed = store.list(group, kind).filter(({ metadata }) => Number(metadata.resourceVersion) > from);
  const queue: HubEvent[] = missed.filter(isSelected).map((object) => ({ type: 'MODIFIED', object }));
  let wake = (): void => undefined;
  const unsubscribe = store.subscribe((event) => {
    const { object } = event;
    if (object.kind !== kind || groupOf(object.apiVersion) !== group || !isSelected(object)) return;
    queue.push(event);
    wake();
  });
  onOpen?.();
  try {
    for (;;) {
      signal.throwIfAborted();
      const event = queue.shift();
      if (event !== undefined) yield event;
      else await nextWake(signal, (resolve) => (wake = resolve));
    }
  } finally {
    unsubscribe();
  }
}

/** Waits for `wake` or for the end of the watch. */
async function nextWake(signal: AbortSignal, expose: (wake: () => void) => void): Promise<void> {
  await withChild(signal, (inner) => {
    return new Promise<void>((resolve) => {
      expose(resolve);
      inner.addEventListener('abort', () => resolve(), { once: true });
    });
  });
}
