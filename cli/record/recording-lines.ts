import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { messageOf, UsageError } from '#base';
import { maxRecordingLine, RecordingError } from '#controller';

/** The lines of a file, or of standard input for `-`. */
export async function* recordingLines(path: string, stdin: Readable): AsyncGenerator<string, void> {
  const stream = path === '-' ? stdin : createReadStream(path);
  try {
    yield* linesOf(stream.setEncoding('utf8'));
  } catch (error) {
    if (error instanceof RecordingError) throw error;
    throw new UsageError(`cannot read ${path}: ${messageOf(error)}`, { cause: error });
  } finally {
    if (path !== '-') stream.destroy();
  }
}

/** @throws RecordingError before an endless line takes all memory */
async function* linesOf(stream: Readable): AsyncGenerator<string, void> {
  let parts: string[] = [];
  let [length, number] = [0, 1];
  for await (const chunk of stream as AsyncIterable<string>) {
    const pieces = chunk.split('\n');
    const last = pieces.pop() ?? '';
    for (const piece of pieces) {
      yield parts.length === 0 ? piece : parts.join('') + piece;
      [parts, length, number] = [[], 0, number + 1];
    }
    parts.push(last);
    length += last.length;
    if (length > maxRecordingLine)
      throw new RecordingError(`line ${number}: it is longer than ${maxRecordingLine / 1024 / 1024} MB`);
  }
  if (length > 0) yield parts.join('');
}
