import { messageOf, outsideText, valueAt } from '#base';
import type { Json } from '#base';
import { apiResource, KubeApiError } from '#kube';
import type { KubeReader, NamedObject, PodLogOptions } from '#kube';
import { groupOf, jsonOf } from '#model';
import type { KubeObject, ResourceRef } from '#model';
import type { ContainerChoice, LiveEvent, LiveLog, ObjectActivity } from '../types.ts';

const events = apiResource('v1', 'Event', 'events', 'namespaced');
const pods = apiResource('v1', 'Pod', 'pods', 'namespaced');

const deadlineMs = 8000;
const maxEvents = 500;
const shownEvents = 100;
/** Fewer lines are asked for again if more would be longer than the limit. */
const tailLines = [1000, 100, 10, 1];
/** The server sends the first part of the asked lines, at most this much. */
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
  { group, kind, namespace, name }: ResourceRef,
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
    .filter((event) => isAboutGroup(event, group))
    .map(eventOf)
    .sort((a, b) => (a.lastAt < b.lastAt ? 1 : a.lastAt > b.lastAt ? -1 : 0))
    .slice(0, shownEvents);
}

/** No selector has the group: a Service of Knative is not the Service that it creates. */
function isAboutGroup(event: KubeObject, group: string): boolean {
  const apiVersion = valueAt(jsonOf(event), 'involvedObject', 'apiVersion');
  return typeof apiVersion !== 'string' || apiVersion === '' || groupOf(apiVersion) === group;
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
 * pod names or else its first one, unless `choice` names another. The containers are known also if
 * the server refuses the log, as of one that has not started: an earlier one may tell why.
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
  try {
    const whole = await endOfLog(client, pod, { ...options, container: chosen, isPrevious });
    const shown = whole.slice(-shownCharacters);
    const firstWhole = shown.length < whole.length ? shown.indexOf('\n') + 1 : 0;
    return { container: chosen, containers, text: outsideText('log', shown.slice(firstWhole)) };
  } catch (error) {
    if (!(error instanceof KubeApiError)) throw error;
    return { container: chosen, containers, text: '', message: messageOf(error) };
  }
}

/** Returns the beginning of the last line if that line alone exceeds the limit. */
async function endOfLog(
  client: KubeReader,
  pod: NamedObject,
  options: Omit<PodLogOptions, 'tailLines' | 'limitBytes'>,
): Promise<string> {
  let text = '';
  for (const lines of tailLines) {
    text = await client.podLog(pod, { ...options, tailLines: lines, limitBytes });
    // A character that the limit cuts is replaced by one of up to three bytes.
    if (Buffer.byteLength(text) < limitBytes - 3) break;
  }
  return text;
}

/** Names of the containers: those that run, then init containers, then those added by hand. */
function containersOf(pod: KubeObject): readonly string[] {
  return ['containers', 'initContainers', 'ephemeralContainers'].flatMap((member) => {
    const list = valueAt(jsonOf(pod), 'spec', member);
    const names = Array.isArray(list) ? list.map((one: Json) => valueAt(one, 'name')) : [];
    return names.filter((name) => typeof name === 'string');
  });
}
