import type { AppKey } from '#model';
import type { ReplicaFacts } from '../facts.ts';
import type { TreeResponse } from '../view-types.ts';

type TreePage = Pick<TreeResponse, 'nodes' | 'total' | 'message'>;

/** The tree of an Application as this replica knows it; undefined: there is no such Application. */
export async function treePage(
  { controller }: ReplicaFacts,
  key: AppKey,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const tree: TreePage | undefined = await controller.tree(key, signal);
  return tree === undefined ? undefined : { ...tree };
}
