/** Bytes of the rows and bodies of one kind. */
interface KindBytes {
  rows: number;
  bodies: number;
}

/** The sizes of a node. */
export interface SizedNode {
  readonly kindText: string;
  readonly rowBytes: number;
  readonly bodyBytes: number;
}

/** Estimated bytes of one cluster's store, by kind. */
export class StoreSizes {
  /** Called by the store after each change of the size, to enforce the memory limit. */
  onChange: (bytes: number) => void = () => undefined;
  readonly #kinds = new Map<string, KindBytes>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Records a change and returns the difference; pass undefined for a missing side. Does not call
   * `onChange`: the caller does, when the store is consistent.
   */
  account(before: SizedNode | undefined, after: SizedNode | undefined): number {
    const was = this.#bytes;
    if (before !== undefined) this.#add(before, -1);
    if (after !== undefined) this.#add(after, 1);
    return this.#bytes - was;
  }

  ofKind(kindText: string): Readonly<KindBytes> {
    return this.#kinds.get(kindText) ?? { rows: 0, bodies: 0 };
  }

  /** The kind with the most bytes that passes the filter. */
  largest(counts: (kindText: string) => boolean): string | undefined {
    let [found, most]: [string | undefined, number] = [undefined, 0];
    for (const [kindText, { rows, bodies }] of this.#kinds) {
      if (rows + bodies <= most || !counts(kindText)) continue;
      found = kindText;
      most = rows + bodies;
    }
    return found;
  }

  #add({ kindText, rowBytes, bodyBytes }: SizedNode, sign: 1 | -1): void {
    let kind = this.#kinds.get(kindText);
    if (kind === undefined) {
      kind = { rows: 0, bodies: 0 };
      this.#kinds.set(kindText, kind);
    }
    kind.rows += sign * rowBytes;
    kind.bodies += sign * bodyBytes;
    this.#bytes += sign * (rowBytes + bodyBytes);
    if (kind.rows === 0 && kind.bodies === 0) this.#kinds.delete(kindText);
  }
}
