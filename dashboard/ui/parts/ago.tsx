import type { JSX } from 'preact';
import { shortDuration } from '../../../api/words/index.ts';
import { nowMs } from '../data/time.ts';

/** How long ago, with the time itself as its title. */
export function Ago({ time, suffix = ' ago' }: { time: string | undefined; suffix?: string }): JSX.Element {
  const at = Date.parse(time ?? '');
  if (time === undefined || Number.isNaN(at)) return <span class="muted">–</span>;
  return (
    <time dateTime={time} title={time}>
      {shortDuration(Math.max(0, nowMs.value - at))}
      {suffix}
    </time>
  );
}
