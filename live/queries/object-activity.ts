import { outsideText, valueAt } from '#base';
import type { Json } from '#base';
import { apiResource } from '#kube';
import type { KubeReader, NamedObject } from '#kube';
import { jsonOf } from '#model';
import type { KubeObject, ResourceRef } from '#model';
import type { ContainerChoice, LiveEvent, LiveLog, ObjectActivity } from '../types.ts';

const events = apiResource('v1', 'Event', 'events', 'namespaced');
const pods = apiResource('v1', 'Pod', 'pods', 'namespaced');

const deadlineMs = 8000;
const maxEvents = 500;
const shownEvents = 100;
const tailLines = 1000;
/** The server sends at most this much; the newest part is shown. */
const limitBytes = 1024 * 1024;
const shownCharacters = 64 * 1024;

/** Reads the events and logs of one cluster. */
export function activityOf(client: KubeReader): ObjectActivity {
  return {
    events: (ref, signal) => eventsAbout(client, ref, signal),
    log: (pod, choice, signal) => logOf(client, pod, choice, signal),
  };
}

/**
 * The events about an object, the newest first, at most 100. They are read from the server: no
 * cache has them. As in `kubectl describe`, events about cluster-scoped objects are in "default".
 * @throws KubeApiError, KubeConnectionError
 */
async function eventsAbout(
  client: KubeReader,
  { kind, namespace, name }: ResourceRef,
  signal: AbortSignal,
): Promise<readonly LiveEvent[]> {
  const selected = { 'involvedObject.kind': kind, 'involvedObject.name': name, 'involvedObject.namespace': namespace };
  const { items } = await client.list(events, {
    signal,
    deadlineMs,
    attempts: 1,
    namespace: namespace === '' ? 'default' : namespace,
    fieldSelector: Object.entries(selected)
      .map(([field, value]) => `${field}=${value.replace(/[\\,=]/g, '\\$&')}`)
      .join(','),
    limit: maxEvents,
  });
  return items
    .map(eventOf)
    .sort((a, b) => (a.lastAt < b.lastAt ? 1 : a.lastAt > b.lastAt ? -1 : 0))
    .slice(0, shownEvents);
}

function eventOf(object: KubeObject): LiveEvent {
  const event = jsonOf(object);
  const text = (...path: readonly string[]): string => {
    const value = valueAt(event, ...path);
    return typeof value === 'string' ? value : '';
  };
  const counts = [valueAt(event, 'series', 'count'), valueAt(event, 'count')];
  return {
    type: text('type'),
    reason: text('reason'),
    message: outsideText('server', text('message')),
    reporter: text('reportingComponent') || text('source', 'component'),
    count: counts.find((count) => typeof count === 'number') ?? 1,
    lastAt:
      text('series', 'lastObservedTime') ||
      text('lastTimestamp') ||
      text('eventTime') ||
      text('metadata', 'creationTimestamp'),
  };
}

/**
 * The end of a container's log. The container is, as in kubectl, the one that an annotation of the
 * pod names or else its first one, unless `choice` names another.
 * @throws KubeApiError, KubeConnectionError
 */
async function logOf(
  client: KubeReader,
  pod: NamedObject,
  { container: wanted, isPrevious }: ContainerChoice,
  signal: AbortSignal,
): Promise<LiveLog> {
  const options = { signal, deadlineMs, attempts: 1 };
  const found = await client.get(pods, pod, options);
  const containers = containersOf(found);
  const preferred = found.metadata.annotations?.['kubectl.kubernetes.io/default-container'];
  const container = [wanted, preferred].find((name) => name !== undefined && containers.includes(name));
  const chosen = container ?? containers[0] ?? '';
  const whole = await client.podLog(pod, { ...options, container: chosen, isPrevious, tailLines, limitBytes });
  const shown = whole.slice(-shownCharacters);
  const firstWhole = shown.length < whole.length ? shown.indexOf('\n') + 1 : 0;
  return { container: chosen, containers, text: outsideText('log', shown.slice(firstWhole)) };
}

/** Names of the containers: those that run, then init containers, then those added by hand. */
function containersOf(pod: KubeObject): readonly string[] {
  return ['containers', 'initContainers', 'ephemeralContainers'].flatMap((member) => {
    const list = valueAt(jsonOf(pod), 'spec', member);
    const names = Array.isArray(list) ? list.map((one: Json) => valueAt(one, 'name')) : [];
    return names.filter((name) => typeof name === 'string');
  });
}
