import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

export interface ZoomView {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

export interface Zoom {
  readonly view: ZoomView;
  readonly box: RefObject<HTMLDivElement | null>;
  readonly fit: () => void;
  readonly zoomBy: (factor: number) => void;
  readonly onPointerDown: (event: PointerEvent) => void;
}

const [smallest, largest] = [0.1, 2.5];
/** Texts stay readable: a large tree is moved, not shrunk. */
const smallestFit = 0.75;

/** Moves and scales a drawing in its box: by pointer, wheel and buttons. */
export function useZoom(width: number, height: number): Zoom {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState<ZoomView>({ x: 0, y: 0, scale: 1 });
  const fit = (): void => {
    const element = box.current;
    if (element === null || width === 0) return;
    const scale = Math.min(
      1,
      Math.max(smallestFit, Math.min(element.clientWidth / width, element.clientHeight / height)),
    );
    setView({ scale, x: 0, y: Math.max(0, (element.clientHeight - height * scale) / 2) });
  };
  const zoomAt = (factor: number, x: number, y: number): void =>
    setView((before) => {
      const scale = Math.min(largest, Math.max(smallest, before.scale * factor));
      const ratio = scale / before.scale;
      return { scale, x: x - (x - before.x) * ratio, y: y - (y - before.y) * ratio };
    });
  const zoomBy = (factor: number): void => {
    const element = box.current;
    if (element !== null) zoomAt(factor, element.clientWidth / 2, element.clientHeight / 2);
  };
  useFirstFit(fit, width);
  useWheel(box, zoomAt, setView);
  return { view, box, fit, zoomBy, onPointerDown: (event) => drag(event, view, setView) };
}

/** Fits a drawing when it appears; later changes leave the view where the reader put it. */
function useFirstFit(fit: () => void, width: number): void {
  const isFitted = useRef(false);
  useLayoutEffect(() => {
    // The root alone is the drawing of an answer that has not arrived.
    if (isFitted.current || width < 300) return;
    isFitted.current = true;
    fit();
  }, [width]);
}

function useWheel(
  box: RefObject<HTMLDivElement | null>,
  zoomAt: (factor: number, x: number, y: number) => void,
  setView: (update: (before: ZoomView) => ZoomView) => void,
): void {
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const onWheel = (event: WheelEvent): void => {
      event.preventDefault();
      const { left, top } = element.getBoundingClientRect();
      if (event.ctrlKey || event.metaKey)
        zoomAt(Math.exp(-event.deltaY / 200), event.clientX - left, event.clientY - top);
      else setView((before) => ({ ...before, x: before.x - event.deltaX, y: before.y - event.deltaY }));
    };
    // Without `passive: false` the page scrolls, too.
    element.addEventListener('wheel', onWheel, { passive: false });
    return () => element.removeEventListener('wheel', onWheel);
  }, []);
}

function drag(event: PointerEvent, from: ZoomView, setView: (view: ZoomView) => void): void {
  const { target, clientX, clientY, currentTarget } = event;
  if (!(currentTarget instanceof HTMLElement) || !(target instanceof Element) || target.closest('button') !== null)
    return;
  const box = currentTarget;
  const onMove = (move: PointerEvent): void =>
    setView({ ...from, x: from.x + move.clientX - clientX, y: from.y + move.clientY - clientY });
  const onUp = (): void => {
    box.removeEventListener('pointermove', onMove);
    box.removeEventListener('pointerup', onUp);
    box.removeEventListener('pointercancel', onUp);
  };
  box.setPointerCapture(event.pointerId);
  box.addEventListener('pointermove', onMove);
  box.addEventListener('pointerup', onUp);
  box.addEventListener('pointercancel', onUp);
}
