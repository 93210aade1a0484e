import type { ComponentChildren, JSX, RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

const overscan = 8;

export interface VirtualRowsProps<T> {
  readonly items: readonly T[];
  readonly rowHeight: number;
  readonly label: string;
  readonly head: ComponentChildren;
  /** The row that must be visible; -1: none. */
  readonly focused: number;
  readonly render: (item: T, index: number) => ComponentChildren;
}

/** A table of any length: only the rows in view are in the page. */
export function VirtualRows<T>({ items, rowHeight, label, head, focused, render }: VirtualRowsProps<T>): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  useScrolling(box, setView);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || focused < 0) return;
    const [top, bottom] = [focused * rowHeight, (focused + 1) * rowHeight];
    // The head stays on top of the rows.
    const visible = element.clientHeight - headHeight(element);
    if (top < element.scrollTop) element.scrollTop = top;
    else if (bottom > element.scrollTop + visible) element.scrollTop = bottom - visible;
  }, [focused, rowHeight]);
  const first = Math.max(0, Math.floor(view.top / rowHeight) - overscan);
  const last = Math.min(items.length, Math.ceil((view.top + view.height) / rowHeight) + overscan);
  return (
    <div class="rows" ref={box} role="table" aria-label={label} aria-rowcount={items.length + 1} tabIndex={0}>
      {head}
      <div class="rows-body" role="rowgroup" style={{ height: `${items.length * rowHeight}px` }}>
        <div class="rows-window" role="presentation" style={{ transform: `translateY(${first * rowHeight}px)` }}>
          {items.slice(first, last).map((item, i) => render(item, first + i))}
        </div>
      </div>
    </div>
  );
}

function headHeight(element: HTMLElement): number {
  return element.firstElementChild instanceof HTMLElement ? element.firstElementChild.offsetHeight : 0;
}

function useScrolling(
  box: RefObject<HTMLDivElement | null>,
  setView: (view: { top: number; height: number }) => void,
): void {
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    let frame = 0;
    const read = (): void => {
      frame = 0;
      setView({ top: element.scrollTop, height: element.clientHeight });
    };
    const onScroll = (): void => {
      if (frame === 0) frame = requestAnimationFrame(read);
    };
    const observer = new ResizeObserver(onScroll);
    observer.observe(element);
    element.addEventListener('scroll', onScroll, { passive: true });
    read();
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', onScroll);
      cancelAnimationFrame(frame);
    };
  }, []);
}
