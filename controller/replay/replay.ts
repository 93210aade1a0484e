import { readRecording } from './read-recording.ts';
import type { ReadHeader } from './read-recording.ts';
import type { ReplayTools } from './recorded-pass.ts';
import { replayPass } from './replay-pass.ts';
import type { ReplayedPass } from './replay-pass.ts';

export type ReplayItem =
  | { readonly kind: 'header'; readonly header: ReadHeader }
  | { readonly kind: 'gap'; readonly message: string }
  | { readonly kind: 'pass'; readonly pass: ReplayedPass };

/**
 * Decides each pass of a recording again, with the rules of this version.
 * @throws RecordingError with the line that cannot be read or replayed
 */
export async function* replayRecording(
  lines: AsyncIterable<string>,
  tools: ReplayTools,
  signal: AbortSignal,
): AsyncGenerator<ReplayItem, void> {
  for await (const item of readRecording(lines)) {
    signal.throwIfAborted();
    yield item.kind === 'pass' ? { kind: 'pass', pass: await replayPass(item.pass, tools, signal) } : item;
  }
}
