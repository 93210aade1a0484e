import { Graph, layout } from '@dagrejs/dagre';
import type { TreeBox } from './grouping.ts';

export const boxWidth = 208;
export const boxHeight = 74;

export interface PlacedBox {
  readonly box: TreeBox;
  readonly x: number;
  readonly y: number;
}

export interface DrawnTree {
  readonly boxes: readonly PlacedBox[];
  readonly edges: readonly { readonly id: string; readonly path: string }[];
  readonly width: number;
  readonly height: number;
}

/** Places the boxes of a tree from left to right. */
export function drawTree(boxes: readonly TreeBox[]): DrawnTree {
  const graph = new Graph();
  graph.setGraph({ rankdir: 'LR', nodesep: 12, ranksep: 44, marginx: 12, marginy: 12 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id } of boxes) graph.setNode(id, { width: boxWidth, height: boxHeight });
  for (const { id, parent } of boxes) if (parent !== undefined) graph.setEdge(parent, id);
  layout(graph);
  const places = new Map(boxes.map(({ id }) => [id, graph.node(id) as { x: number; y: number }]));
  const placed = boxes.map((box): PlacedBox => {
    const { x, y } = places.get(box.id) ?? { x: 0, y: 0 };
    return { box, x: x - boxWidth / 2, y: y - boxHeight / 2 };
  });
  const edges = boxes.flatMap(({ id, parent }) => {
    const [from, to] = [places.get(parent ?? ''), places.get(id)];
    return from === undefined || to === undefined ? [] : [{ id, path: edgePath(from, to) }];
  });
  const width = Math.max(0, ...placed.map(({ x }) => x + boxWidth)) + 12;
  const height = Math.max(0, ...placed.map(({ y }) => y + boxHeight)) + 12;
  return { boxes: placed, edges, width, height };
}

function edgePath(from: { x: number; y: number }, to: { x: number; y: number }): string {
  const [x1, x2] = [from.x + boxWidth / 2, to.x - boxWidth / 2];
  const middle = (x1 + x2) / 2;
  return `M${x1} ${from.y}C${middle} ${from.y} ${middle} ${to.y} ${x2} ${to.y}`;
}
