import { defined, omit } from '#base';
import type { ResourceRef } from '#model';
import type { UnjudgedApplication } from '../application-types.ts';
import type { TreeNode } from '../view-types.ts';
import type { PageAccess } from './page-access.ts';

/**
 * The tree without live objects that the viewer may not read. Managed objects stay, as the status
 * of the Application lists them, with what it has about them.
 */
export async function visibleNodes(nodes: readonly TreeNode[], access: PageAccess): Promise<readonly TreeNode[]> {
  const missing = await access.objects(nodes);
  const isShown = nodes.map((node) => {
    const right = missing(node);
    if (right !== undefined) access.hidden.add(right);
    return right === undefined;
  });
  const kept = nodes.flatMap((node, i) => (isShown[i] === true || isManaged(node) ? [i] : []));
  const position = new Map(kept.map((old, now) => [old, now]));
  return kept.flatMap((i) => {
    const node = nodes[i];
    if (node === undefined) return [];
    const parents = shownAncestors(nodes, node.parents, position);
    if (isShown[i] === true) return [{ ...node, parents }];
    const { group, kind, namespace, name, version, health, sync, wave, isHook, isMissing } = node;
    const common = { group, kind, namespace, name, version, parents, isHook, isMissing };
    return [{ ...common, images: [], details: [], ...defined({ health, sync, wave }) }];
  });
}

function isManaged({ sync, isHook }: TreeNode): boolean {
  return sync !== undefined || isHook;
}

/** The nearest ancestors that are shown, by their new positions. */
function shownAncestors(
  nodes: readonly TreeNode[],
  parents: readonly number[],
  position: ReadonlyMap<number, number>,
): readonly number[] {
  const found = new Set<number>();
  const seen = new Set<number>();
  const open = [...parents];
  for (let i = open.pop(); i !== undefined; i = open.pop()) {
    if (seen.has(i)) continue;
    seen.add(i);
    const shown = position.get(i);
    if (shown === undefined) open.push(...(nodes[i]?.parents ?? []));
    else found.add(shown);
  }
  return [...found];
}

/** An Application without live values and owned objects that the viewer may not read. */
export async function withoutHiddenObjects(app: UnjudgedApplication, access: PageAccess): Promise<UnjudgedApplication> {
  const { differences, healthDetails, lastPass, lastOperation } = app;
  const culprits = [healthDetails.decidedBy?.culprit, lastOperation?.blockedBy?.culprit];
  const changed = lastPass?.cause.objects ?? [];
  const missing = await access.objects([
    ...differences,
    ...changed,
    ...culprits.flatMap((one) => (one === undefined ? [] : [one])),
  ]);
  const isHidden = (ref: ResourceRef): boolean => {
    const right = missing(ref);
    if (right !== undefined) access.hidden.add(right);
    return right !== undefined;
  };
  const pass = lastPass && {
    ...lastPass,
    cause: { ...lastPass.cause, objects: changed.filter((ref) => !isHidden(ref)) },
  };
  return {
    ...app,
    differences: differences.map((one) => {
      if (!isHidden(one)) return one;
      return { ...omit(one, 'lastWriter', 'contestedBy', 'manifest'), fields: [] };
    }),
    healthDetails: withPart(healthDetails, 'decidedBy', withoutCulprit(healthDetails.decidedBy, isHidden)),
    ...defined({
      lastPass: pass,
      lastOperation:
        lastOperation && withPart(lastOperation, 'blockedBy', withoutCulprit(lastOperation.blockedBy, isHidden)),
    }),
  };
}

function withPart<T, K extends keyof T>(whole: T, member: K, part: T[K] | undefined): T {
  return part === undefined ? whole : { ...whole, [member]: part };
}

function withoutCulprit<T extends { readonly culprit?: ResourceRef | undefined }>(
  value: T | undefined,
  isHidden: (ref: ResourceRef) => boolean,
): T | undefined {
  if (value?.culprit === undefined || !isHidden(value.culprit)) return value;
  return omit(value, 'culprit') as T;
}
