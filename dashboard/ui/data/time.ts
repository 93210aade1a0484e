import { signal } from '@preact/signals';

/** By how much the replicas' clock is ahead of this machine's. */
let offsetMs = 0;

/** The time of the replicas, once a second. */
export const nowMs = signal(Date.now());

export function noteServerTime(time: string): void {
  const at = Date.parse(time);
  if (!Number.isNaN(at)) offsetMs = at - Date.now();
}

export function startTicking(): void {
  setInterval(() => {
    if (!document.hidden) nowMs.value = Date.now() + offsetMs;
  }, 1000);
}

export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
