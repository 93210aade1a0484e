import type { Readable, Writable } from 'node:stream';

/**
 * Frame types. A request is `request*`, `data*`, `end`; an answer is the same with `result`, or one
 * `failure`.
 */
export const frameTypes = { hello: 1, request: 2, data: 3, end: 4, abort: 5, result: 6, failure: 7 } as const;
export type FrameType = (typeof frameTypes)[keyof typeof frameTypes];

export interface RenderFrame {
  readonly type: FrameType;
  /** The ID of its request; 0 for the connection itself. */
  readonly id: number;
  readonly payload: Buffer;
}

/** The maximum payload of a frame. A bigger one is a protocol error. */
export const maxFrameBytes = 1024 * 1024;
/** The payload that senders use: small enough for requests on one connection to take turns. */
export const chunkBytes = 128 * 1024;
const headerBytes = 9;

/** The peer violated the protocol. */
export class BrokenProtocol extends Error {
  override readonly name = 'BrokenProtocol';
}

/**
 * The frames of a stream, up to its end.
 * @throws BrokenProtocol for invalid data, or if the stream ends inside a frame
 */
export async function* framesOf(stream: Readable): AsyncGenerator<RenderFrame> {
  const input = new ByteQueue();
  // Reading may end early; the stream stays open to send the peer the reason.
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    input.push(chunk as Buffer);
    for (let frame = nextFrame(input); frame !== undefined; frame = nextFrame(input)) yield frame;
  }
  if (input.size > 0) throw new BrokenProtocol('the connection closed inside a frame');
}

function nextFrame(input: ByteQueue): RenderFrame | undefined {
  if (input.size < headerBytes) return undefined;
  const header = input.peek(headerBytes);
  const [length, type, id] = [header.readUInt32BE(0), header.readUInt8(4), header.readUInt32BE(5)];
  if (type < frameTypes.hello || type > frameTypes.failure) throw new BrokenProtocol(`a frame has the type ${type}`);
  if (length > maxFrameBytes)
    throw new BrokenProtocol(`a frame has ${length} bytes, more than the maximum of ${maxFrameBytes}`);
  if (input.size < headerBytes + length) return undefined;
  input.take(headerBytes);
  return { type: type as FrameType, id, payload: input.take(length) };
}

/** A queue of bytes that arrive in pieces. */
class ByteQueue {
  readonly #parts: Buffer[] = [];
  size = 0;

  push(part: Buffer): void {
    this.#parts.push(part);
    this.size += part.length;
  }

  peek(count: number): Buffer {
    const first = this.#parts[0];
    if (first !== undefined && first.length >= count) return first.subarray(0, count);
    return Buffer.concat(this.#parts.slice(0, count), this.size).subarray(0, count);
  }

  take(count: number): Buffer {
    const taken: Buffer[] = [];
    for (let missing = count; missing > 0;) {
      const first = this.#parts[0] ?? Buffer.alloc(0);
      const part = first.subarray(0, missing);
      taken.push(part);
      missing -= part.length;
      if (part.length === first.length) this.#parts.shift();
      else this.#parts[0] = first.subarray(part.length);
    }
    this.size -= count;
    return taken.length === 1 ? (taken[0] ?? Buffer.alloc(0)) : Buffer.concat(taken, count);
  }
}

/**
 * The payloads of one message. Each piece costs memory beyond its bytes, and honest peers send few;
 * a peer that would fill this process with empty or tiny frames is refused.
 */
export class FramePieces {
  readonly #parts: Buffer[] = [];
  #bytes = 0;

  /** @throws BrokenProtocol with the message `tooLong`, or if the pieces are too small */
  push(part: Buffer, maxBytes: number, tooLong: string): void {
    this.#bytes += part.length;
    if (this.#bytes > maxBytes) throw new BrokenProtocol(tooLong);
    this.#parts.push(part);
    if (this.#parts.length > minAllowedPieces + this.#bytes / minMeanPieceBytes)
      throw new BrokenProtocol('a message has too many small pieces');
  }

  join(): Buffer {
    return Buffer.concat(this.#parts, this.#bytes);
  }
}

/** Always allowed: one piece for each step's output, and some more. */
const minAllowedPieces = 64;
const minMeanPieceBytes = 1024;

/** Writes frames, and waits while the peer does not read. */
export class FrameWriter {
  readonly #stream: Writable;
  #drained: Promise<void> | undefined;

  constructor(stream: Writable) {
    this.#stream = stream;
  }

  /** Resolves when more can be sent. Also if the stream is closed: its reader notices that. */
  async send(type: FrameType, id: number, payload: Uint8Array = new Uint8Array()): Promise<void> {
    if (this.#stream.destroyed || this.#stream.writableEnded) return;
    const header = Buffer.alloc(headerBytes);
    header.writeUInt32BE(payload.length, 0);
    header.writeUInt8(type, 4);
    header.writeUInt32BE(id, 5);
    this.#stream.cork();
    this.#stream.write(header);
    const hasRoom = this.#stream.write(payload);
    this.#stream.uncork();
    if (!hasRoom) await (this.#drained ??= this.#drain());
  }

  /** Sends bytes as frames of moderate size. `isOver` stops early. */
  async sendAll(type: FrameType, id: number, bytes: Uint8Array, isOver: () => boolean = () => false): Promise<void> {
    for (let from = 0; from < bytes.length && !isOver(); from += chunkBytes)
      await this.send(type, id, bytes.subarray(from, from + chunkBytes));
  }

  async sendJson(type: FrameType, id: number, value: unknown): Promise<void> {
    await this.sendAll(type, id, Buffer.from(JSON.stringify(value)));
  }

  async #drain(): Promise<void> {
    const stream = this.#stream;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        stream.off('drain', done).off('close', done).off('error', done);
        resolve();
      };
      stream.once('drain', done).once('close', done).once('error', done);
    });
    this.#drained = undefined;
  }
}
