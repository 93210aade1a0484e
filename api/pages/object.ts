import type { AppKey, ResourceRef } from '#model';
import { ApiFault } from '../fault.ts';
import type { ReplicaFacts } from '../facts.ts';

/**
 * One object of an Application's tree as this replica knows it.
 * @throws ApiFault 404 if the tree does not have it
 */
export async function objectPage(
  { controller }: ReplicaFacts,
  { key, ref }: { readonly key: AppKey; readonly ref: ResourceRef },
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  const object = await controller.object(key, ref, signal);
  if (object === undefined) throw new ApiFault(404, `${ref.kind} ${ref.name} is not in the tree of ${key}`);
  return { object };
}
