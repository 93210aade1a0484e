import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

const durationMs = 700;
const reduced = '(prefers-reduced-motion: reduce)';

/** Moves elements with `data-move` to where they are now, when `placement` changes. */
export function useMoves(box: RefObject<HTMLElement | null>, placement: string): void {
  const places = useRef(new Map<string, DOMRect>());
  const last = useRef(placement);
  useLayoutEffect(() => {
    const before = places.current;
    const now = new Map<string, DOMRect>();
    const isMoved = last.current !== placement && !matchMedia(reduced).matches;
    for (const element of box.current?.querySelectorAll<HTMLElement>('[data-move]') ?? []) {
      const id = element.dataset.move ?? '';
      const rect = element.getBoundingClientRect();
      now.set(id, rect);
      const old = before.get(id);
      if (isMoved && old !== undefined) animate(element, old, rect);
    }
    places.current = now;
    last.current = placement;
  });
}

function animate(element: HTMLElement, from: DOMRect, to: DOMRect): void {
  const [x, y] = [from.left - to.left, from.top - to.top];
  if (Math.abs(x) + Math.abs(y) < 2) return;
  element.animate(
    [
      { transform: `translate(${x}px, ${y}px)`, zIndex: 2 },
      { transform: 'none', zIndex: 2 },
    ],
    { duration: durationMs, easing: 'cubic-bezier(.2,.8,.2,1)' },
  );
}
