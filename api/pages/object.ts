import type { AppKey, ResourceRef } from '#model';
import { ApiFault } from '../fault.ts';
import type { ReplicaFacts } from '../facts.ts';
import type { ApiRequest } from '../request.ts';

/** The requests about one object of an Application's tree. */
export type ObjectRequest = Extract<ApiRequest, { readonly object: ResourceRef }>;

/** The member of the page that has the answer. */
export const objectMembers = { object: 'object', 'object/events': 'events', 'object/log': 'log' } as const;

/**
 * One object of an Application's tree as this replica knows it, what was reported about it, or the
 * log of a pod.
 * @throws ApiFault 404 if the tree does not have it
 */
export async function objectPage(
  { controller }: ReplicaFacts,
  key: AppKey,
  request: ObjectRequest,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  const { object: ref } = request;
  const answer = async (): Promise<object | undefined> => {
    if (request.page !== 'object/log')
      return request.page === 'object' ? controller.object(key, ref, signal) : controller.events(key, ref, signal);
    const { container, isPrevious } = request;
    const choice = { container: container === '' ? undefined : container, isPrevious };
    return controller.log(key, { ref, choice }, signal);
  };
  const found = await answer();
  if (found === undefined) throw new ApiFault(404, missing(request, key, ref));
  return { [objectMembers[request.page]]: found };
}

function missing({ page }: ObjectRequest, key: AppKey, { group, kind, name }: ResourceRef): string {
  if (page === 'object/log' && (group !== '' || kind !== 'Pod')) return `only Pods have a log, ${kind} ${name} is none`;
  return `${kind} ${name} is not in the tree of ${key}`;
}
