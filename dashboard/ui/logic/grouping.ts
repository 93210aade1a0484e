import type { TreeNode } from '../../../api/view-types.ts';

/** A box of the drawn tree: an object, or several of one kind below the same parent. */
export interface TreeBox {
  readonly id: string;
  readonly parent: string | undefined;
  readonly node: TreeNode | undefined;
  /** Of a group. */
  readonly members: readonly TreeNode[];
  readonly label: string;
  readonly kind: string;
  readonly health: string;
  readonly sync: string;
  /** Whether its members are shown. */
  readonly isOpen: boolean;
  /** Boxes below it, shown or not. */
  readonly children: number;
}

/** So many siblings of one kind become a group. */
const minGroup = 6;
/** So many members of an open group are shown; the rest stays in a group of its own. */
const maxOpenMembers = 40;
export const rootId = 'root';

const severity: Readonly<Record<string, number>> = {
  Missing: 5,
  Degraded: 5,
  Unknown: 3,
  Progressing: 4,
  Suspended: 2,
  Healthy: 1,
};

/** The worst health of some objects; "" if none has any. */
export function worstHealth(nodes: readonly Pick<TreeNode, 'health'>[]): string {
  let worst = '';
  for (const { health = '' } of nodes) if ((severity[health] ?? 0) > (severity[worst] ?? 0)) worst = health;
  return worst;
}

/** The objects whose kind or name has the text, with their owners: a tree of its own. */
export function matchingNodes(nodes: readonly TreeNode[], text: string): readonly TreeNode[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return nodes;
  const kept = new Set<number>();
  const open = nodes.flatMap(({ kind, name, namespace }, i) =>
    [kind, name, namespace].join('\n').toLowerCase().includes(wanted) ? [i] : [],
  );
  for (let i = open.pop(); i !== undefined; i = open.pop()) {
    if (kept.has(i)) continue;
    kept.add(i);
    open.push(...(nodes[i]?.parents ?? []));
  }
  const order = [...kept].sort((a, b) => a - b);
  const places = new Map(order.map((i, place) => [i, place]));
  return order.flatMap((i) => {
    const node = nodes[i];
    return node === undefined ? [] : [{ ...node, parents: node.parents.flatMap((owner) => places.get(owner) ?? []) }];
  });
}

/**
 * The boxes of a tree below its Application, parents first. Siblings of one kind are grouped where
 * there are many, unless their group is in `open`.
 */
export function treeBoxes(nodes: readonly TreeNode[], title: string, open: ReadonlySet<string>): readonly TreeBox[] {
  const children = childrenOf(nodes);
  const roots = children.get(-1) ?? [];
  const boxes: TreeBox[] = [rootBox(title, nodes, roots.length)];
  const drawn = new Set<number>();
  const queue: { readonly parent: string; readonly members: readonly number[] }[] = [
    { parent: rootId, members: roots },
  ];
  const drawObject = (i: number, parent: string): void => {
    const [node, below] = [nodes[i], children.get(i) ?? []];
    // Owners may form a cycle.
    if (node === undefined || drawn.has(i)) return;
    drawn.add(i);
    boxes.push(objectBox(String(i), parent, node, below.length));
    queue.push({ parent: String(i), members: below });
  };
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { parent, members } = next;
    for (const [kind, all] of byKind(members, nodes)) {
      const { alone, grouped, id, isOpen } = splitGroup({ parent, kind, members: all, open });
      const found = grouped.flatMap((i) => nodes[i] ?? []);
      if (found.length > 0) boxes.push(groupBox(id, parent, found, isOpen));
      for (const i of alone) drawObject(i, isOpen ? id : parent);
    }
  }
  return boxes;
}

interface GroupChoice {
  readonly parent: string;
  readonly kind: string;
  readonly members: readonly number[];
  readonly open: ReadonlySet<string>;
}

interface SplitGroup {
  readonly id: string;
  readonly alone: readonly number[];
  readonly grouped: readonly number[];
  readonly isOpen: boolean;
}

function splitGroup({ parent, kind, members, open }: GroupChoice): SplitGroup {
  const id = `${parent} ${kind}`;
  if (members.length < minGroup) return { id, alone: members, grouped: [], isOpen: false };
  if (!open.has(id)) return { id, alone: [], grouped: members, isOpen: false };
  // An open group keeps its box, which closes it again.
  return { id, alone: members.slice(0, maxOpenMembers), grouped: members, isOpen: true };
}

function childrenOf(nodes: readonly TreeNode[]): ReadonlyMap<number, readonly number[]> {
  const children = new Map<number, number[]>();
  nodes.forEach(({ parents }, i) => {
    // Drawn once, below the first of its owners.
    const [owner = -1] = parents;
    const list = children.get(owner) ?? [];
    list.push(i);
    children.set(owner, list);
  });
  return children;
}

function byKind(members: readonly number[], nodes: readonly TreeNode[]): ReadonlyMap<string, readonly number[]> {
  const found = new Map<string, number[]>();
  for (const i of members) {
    const node = nodes[i];
    if (node === undefined) continue;
    const kind = `${node.group}/${node.kind}`;
    const list = found.get(kind) ?? [];
    list.push(i);
    found.set(kind, list);
  }
  return found;
}

function rootBox(title: string, nodes: readonly TreeNode[], children: number): TreeBox {
  const health = worstHealth(nodes);
  return {
    id: rootId,
    parent: undefined,
    node: undefined,
    members: [],
    label: title,
    kind: 'Application',
    health,
    sync: '',
    isOpen: false,
    children,
  };
}

function objectBox(id: string, parent: string, node: TreeNode, children: number): TreeBox {
  const { name, kind, health = '', sync = '' } = node;
  return { id, parent, node, members: [], label: name, kind, health, sync, isOpen: false, children };
}

function groupBox(id: string, parent: string, members: readonly TreeNode[], isOpen: boolean): TreeBox {
  const kind = members[0]?.kind ?? '';
  const isOutOfSync = members.some(({ sync }) => sync === 'OutOfSync');
  const sync = isOutOfSync ? 'OutOfSync' : (members[0]?.sync ?? '');
  const label =
    isOpen && members.length > maxOpenMembers
      ? `${maxOpenMembers} of ${members.length} shown`
      : `${members.length} objects`;
  return { id, parent, node: undefined, members, label, kind, health: worstHealth(members), sync, isOpen, children: 0 };
}
