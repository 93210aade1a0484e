/** The blobs that one caller waits for. */
export interface PendingRead {
  readonly blobs: readonly { readonly oid: string; readonly size: number }[];
  resolve(contents: ReadonlyMap<string, Uint8Array>): void;
  reject(error: Error): void;
}

const batchBytes = 32 * 1024 * 1024;

/**
 * Splits a big read. The output of git exists twice for a moment, and each batch is kept as long as
 * any file of it.
 */
export function partsOf(blobs: PendingRead['blobs']): readonly PendingRead['blobs'][] {
  const parts: PendingRead['blobs'][number][][] = [[]];
  let bytes = 0;
  for (const blob of blobs) {
    if (bytes > 0 && bytes + blob.size > batchBytes) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(blob);
    bytes += blob.size;
  }
  return parts;
}

export function joined(parts: readonly ReadonlyMap<string, Uint8Array>[]): ReadonlyMap<string, Uint8Array> {
  const [first, ...others] = parts;
  if (first !== undefined && others.length === 0) return first;
  return new Map(parts.flatMap((part) => [...part]));
}

/** Takes reads from the front of the queue until the batch is large enough; at least one. */
export function takeBatch(reads: PendingRead[]): PendingRead[] {
  let bytes = 0;
  let count = 0;
  for (const read of reads) {
    if (count > 0 && bytes > batchBytes) break;
    for (const blob of read.blobs) bytes += blob.size;
    count += 1;
  }
  return reads.splice(0, count);
}

/**
 * Parses the output of `git cat-file --batch`; undefined if a blob is missing or the output is not
 * as expected.
 */
export function parseBatch(
  output: Uint8Array,
  sizes: ReadonlyMap<string, number>,
): Map<string, Uint8Array> | undefined {
  const bytes = Buffer.from(output.buffer, output.byteOffset, output.byteLength);
  const contents = new Map<string, Uint8Array>();
  let from = 0;
  for (const [oid, size] of sizes) {
    const end = bytes.indexOf(10, from);
    if (end < 0 || bytes.toString('latin1', from, end) !== `${oid} blob ${size}`) return undefined;
    contents.set(oid, bytes.subarray(end + 1, end + 1 + size));
    from = end + 1 + size + 1;
  }
  return contents;
}
