import type { Clock } from '#base';
import { SizeLimitExceeded } from '../../errors.ts';
import type { DesiredLimits, SourceOptionNames } from '../../limits.ts';
import { FairLimiter } from '../../render/fair.ts';
import { unpack } from './archive.ts';
import type { UnpackedArchive } from './archive.ts';

/** Most archives are smaller packed and unpacked, and wait for nothing. */
const smallBytes = 4 * 1024 * 1024;

/** A packed archive that is not in memory yet. */
export interface PackedArchive {
  /** Archives of one owner take turns with those of others. */
  readonly owner: string;
  readonly bytes: number;
  readonly read: () => Promise<Uint8Array>;
  /** Limit of its unpacked size. */
  readonly maxBytes: number;
}

export interface UnpackerDeps {
  readonly clock: Clock;
  readonly limits: Pick<DesiredLimits, 'maxCheckoutFiles' | 'inputBytes'>;
  readonly optionNames?: SourceOptionNames | undefined;
}

/**
 * Unpacks archives. A big one fills much memory for a moment, so big ones take turns, and each may
 * fill half of the memory for inputs. A process has only one, or those of several add up.
 */
export class Unpacker {
  readonly #deps: UnpackerDeps;
  readonly #turns: FairLimiter;

  constructor(deps: UnpackerDeps) {
    this.#deps = deps;
    this.#turns = new FairLimiter(deps.clock, 1);
  }

  /**
   * Only `body` may use the content of a big archive, unless it counts elsewhere.
   * @throws UnsafeInput, SizeLimitExceeded, DesiredError; the reason of `signal`
   */
  async run<T>(
    archive: PackedArchive,
    signal: AbortSignal,
    body: (unpacked: UnpackedArchive) => Promise<T> | T,
  ): Promise<T> {
    const small = await this.#small(archive);
    if (small !== undefined) return body(small);
    const share = { project: archive.owner, repository: '' };
    return this.#turns.run(share, signal, async () => body(await this.#big(archive)));
  }

  /** Runs work that holds a packed archive. Big ones take turns. */
  inTurn<T>(
    { owner, bytes }: Pick<PackedArchive, 'owner' | 'bytes'>,
    signal: AbortSignal,
    body: () => Promise<T>,
  ): Promise<T> {
    return bytes > smallBytes ? this.#turns.run({ project: owner, repository: '' }, signal, body) : body();
  }

  /** Undefined for an archive that is not small. */
  async #small({ bytes, read, maxBytes }: PackedArchive): Promise<UnpackedArchive | undefined> {
    if (bytes > smallBytes) return undefined;
    try {
      return await this.#unpacked(await read(), Math.min(maxBytes, smallBytes));
    } catch (error) {
      if (error instanceof SizeLimitExceeded && maxBytes > smallBytes) return undefined;
      throw error;
    }
  }

  async #big({ read, maxBytes }: PackedArchive): Promise<UnpackedArchive> {
    const { limits, optionNames: { inputMemory: option } = {} } = this.#deps;
    const mostBytes = Math.floor(limits.inputBytes / 2);
    try {
      return await this.#unpacked(await read(), Math.min(maxBytes, mostBytes));
    } catch (error) {
      if (!(error instanceof SizeLimitExceeded) || maxBytes <= mostBytes || option === undefined) throw error;
      throw new SizeLimitExceeded(`${error.message}: raise ${option}`);
    }
  }

  #unpacked(packed: Uint8Array, maxCheckoutBytes: number): Promise<UnpackedArchive> {
    const { maxCheckoutFiles } = this.#deps.limits;
    return unpack(packed, { maxCheckoutBytes, maxCheckoutFiles });
  }
}
