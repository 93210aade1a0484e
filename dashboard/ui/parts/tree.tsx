import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { ResourceDifference } from '../../../api/application-types.ts';
import type { TreeNode, TreeResponse } from '../../../api/view-types.ts';
import { usePage } from '../data/poll.ts';
import { matchingNodes, treeBoxes } from '../logic/grouping.ts';
import type { TreeBox } from '../logic/grouping.ts';
import { boxHeight, boxWidth, drawTree } from '../logic/tree-layout.ts';
import type { DrawnTree, PlacedBox } from '../logic/tree-layout.ts';
import { ResourceDetails } from './resource-details.tsx';
import { Empty, Problem, State } from './state.tsx';
import { useZoom } from './zoom.ts';
import type { Zoom } from './zoom.ts';

const pollMs = 4000;

interface TreeProps {
  readonly path: string;
  readonly title: string;
  readonly differences: readonly ResourceDifference[];
}

/** The objects of an Application, drawn. */
export function ApplicationTree({ path, title, differences }: TreeProps): JSX.Element {
  const { page, problem } = usePage<TreeResponse>(path, pollMs);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [selected, setSelected] = useState<TreeNode>();
  const version = useMemo(() => JSON.stringify(page?.nodes), [page]);
  const [text, setText] = useState('');
  // The same tree is not placed again.
  const nodes = useMemo(() => matchingNodes(page?.nodes ?? [], text), [version, text]);
  const drawn = useMemo(() => drawTree(treeBoxes(nodes, title, open)), [nodes, title, open]);
  const { view, box, fit, zoomBy, onPointerDown } = useZoom(drawn.width, drawn.height);
  const toggle = (id: string): void => {
    const next = new Set(open);
    if (!next.delete(id)) next.add(id);
    setOpen(next);
  };
  const press = ({ node, id, members }: TreeBox): void => {
    if (members.length > 0) toggle(id);
    else if (node !== undefined) setSelected(node);
  };
  if (page?.nodes.length === 0) return <Empty>{page.message ?? 'It has no objects.'}</Empty>;
  return (
    <div class="tree-view">
      <Problem text={problem} />
      <TreeTools page={page} text={text} setText={setText} zoomBy={zoomBy} fit={fit} />
      <TreeBoxes drawn={drawn} view={view} box={box} onPointerDown={onPointerDown} selected={selected} press={press} />
      {selected !== undefined && (
        <ResourceDetails
          path={path.replace(/\/tree$/, '')}
          node={selected}
          differences={differences}
          close={() => setSelected(undefined)}
        />
      )}
    </div>
  );
}

interface TreeBoxesProps extends Pick<Zoom, 'view' | 'box' | 'onPointerDown'> {
  readonly drawn: DrawnTree;
  readonly selected: TreeNode | undefined;
  readonly press: (box: TreeBox) => void;
}

function TreeBoxes({ drawn, view, box, onPointerDown, selected, press }: TreeBoxesProps): JSX.Element {
  return (
    <div class="tree-box" ref={box} onPointerDown={onPointerDown} role="group" aria-label="Resource tree" tabIndex={0}>
      <div
        class="tree-canvas"
        style={{
          width: `${drawn.width}px`,
          height: `${drawn.height}px`,
          transform: `translate(${view.x}px, ${view.y}px) scale(${view.scale})`,
        }}
      >
        <svg width={drawn.width} height={drawn.height} aria-hidden="true">
          {drawn.edges.map(({ id, path: line }) => (
            <path key={id} d={line} />
          ))}
        </svg>
        {drawn.boxes.map((placed) => (
          <Box
            key={placed.box.id}
            placed={placed}
            isSelected={selected !== undefined && placed.box.node === selected}
            press={press}
          />
        ))}
      </div>
    </div>
  );
}

interface TreeToolsProps {
  readonly page: TreeResponse | undefined;
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly zoomBy: (factor: number) => void;
  readonly fit: () => void;
}

function TreeTools({ page, text, setText, zoomBy, fit }: TreeToolsProps): JSX.Element {
  const more = page !== undefined && page.total > page.nodes.length ? `, the first ${page.nodes.length} of them` : '';
  return (
    <div class="tree-tools">
      <p class="muted" role="status">
        {page === undefined ? 'Reading the tree …' : `${page.total.toLocaleString('en')} objects${more}`}
      </p>
      <input
        type="search"
        aria-label="Find objects"
        placeholder="Kind or name …"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <button type="button" onClick={() => zoomBy(1.25)} aria-label="Zoom in">
        +
      </button>
      <button type="button" onClick={() => zoomBy(0.8)} aria-label="Zoom out">
        −
      </button>
      <button type="button" onClick={fit}>
        Fit
      </button>
    </div>
  );
}

interface BoxProps {
  readonly placed: PlacedBox;
  readonly isSelected: boolean;
  readonly press: (box: TreeBox) => void;
}

function Box({ placed: { box, x, y }, isSelected, press }: BoxProps): JSX.Element {
  const { kind, label, health, sync, members, node, isOpen } = box;
  const isGroup = members.length > 0;
  const marks = [
    node?.isHook === true ? 'hook' : '',
    node?.wave === undefined || node.wave === 0 ? '' : `wave ${node.wave}`,
  ];
  const isOrphan = node !== undefined && node.sync === undefined && node.parents.length === 0;
  return (
    <button
      type="button"
      class={`tree-node${isGroup ? ' group' : ''}${isSelected ? ' selected' : ''}`}
      style={{ left: `${x}px`, top: `${y}px`, width: `${boxWidth}px`, height: `${boxHeight}px` }}
      aria-expanded={isGroup ? isOpen : undefined}
      title={`${kind} ${label}`}
      onClick={() => press(box)}
    >
      <span class="tree-kind">
        {kind}
        {marks.filter(Boolean).map((mark) => (
          <em key={mark}>{mark}</em>
        ))}
        {isOrphan && <em>orphan</em>}
        {isGroup && <em>{isOpen ? 'close' : 'open'}</em>}
      </span>
      <span class="tree-name">{label}</span>
      <span class="tree-states">
        <State word={health} />
        <State word={sync} />
      </span>
    </button>
  );
}
