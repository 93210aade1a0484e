import { KubeSizeError } from '../errors.ts';

/**
 * Limits on the bytes that one client accepts. The server decides what it sends, but must not
 * decide how much memory that takes.
 */
export interface ByteLimits {
  /** One object as JSON: list item, watch event or response. etcd stores 1.5 MiB by default. */
  readonly objectBytes: number;
  /**
   * A response parsed as a whole that is not an object: all discovery documents together, or one
   * schema document.
   */
  readonly documentBytes: number;
  /** One page of a list. Its items are parsed one by one. */
  readonly responseBytes: number;
  /** All unfinished responses of one client together. */
  readonly inFlightBytes: number;
}

const mebibyte = 1024 * 1024;

export const defaultByteLimits: ByteLimits = {
  objectBytes: 8 * mebibyte,
  documentBytes: 32 * mebibyte,
  responseBytes: 1024 * mebibyte,
  inFlightBytes: 128 * mebibyte,
};

/**
 * A parsed text may take the memory of this many times its limit. Without this bound, `[{},{},…]`
 * could take more than 20 times its length.
 */
const parsedSizeFactor = 4;
/** By byte of the text: memory of an object or array, and of one entry in it, besides the text. */
const memoryOf = new Uint8Array(256);
for (const bracket of '{[') memoryOf[bracket.charCodeAt(0)] = 56;
memoryOf[','.charCodeAt(0)] = 16;
/**
 * About the most memory that one byte of text takes when parsed, as in `{},{},`. A text that stays
 * within the limit at this rate is accepted without counting.
 */
const maxMemoryPerByte = 24;

/** Rejects a text that is small but large once parsed. Free for texts far below the limit. */
export function checkParsedSize(text: Uint8Array, limitBytes: number, refuse: (bytes: number) => KubeSizeError): void {
  const most = limitBytes * parsedSizeFactor;
  if (text.length * maxMemoryPerByte <= most) return;
  let bytes = text.length;
  // eslint-disable-next-line @typescript-eslint/prefer-for-of -- ten times as fast
  for (let i = 0; i < text.length; i += 1) bytes += memoryOf[text[i] ?? 0] ?? 0;
  if (bytes > most) throw refuse(bytes);
}

/** Bytes of the unfinished responses of one client. */
export class BytesInFlight {
  readonly #limitBytes: number;
  #heldBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Opens the share of one response. */
  open(request: string): HeldBytes {
    return new HeldBytes(request, (change) => {
      this.#heldBytes += change;
      return this.#heldBytes <= this.#limitBytes;
    });
  }
}

/** The share of one response. Call `release` when the response ends. */
class HeldBytes {
  readonly #request: string;
  readonly #change: (bytes: number) => boolean;
  #bytes = 0;

  constructor(request: string, change: (bytes: number) => boolean) {
    this.#request = request;
    this.#change = change;
  }

  /** @throws KubeSizeError if all responses of the client together are too large. */
  set(bytes: number): void {
    const fits = this.#change(bytes - this.#bytes);
    const isMore = bytes > this.#bytes;
    this.#bytes = bytes;
    if (!fits && isMore) throw KubeSizeError.inFlight(this.#request, bytes);
  }

  release(): void {
    this.set(0);
  }
}
