/** Types of the two hash libraries, as far as they are used; neither ships its own. */
declare module 'fnv-plus' {
  const fnv: {
    /** FNV-1a over the UTF-8 bytes of a text, 32 bits, unsigned. Stateless, unlike `hash`, `seed` and `useUTF8`. */
    readonly fast1a32utf: (text: string) => number;
  };
  // eslint-disable-next-line no-restricted-syntax -- the shape of the package, not of our code
  export default fnv;
}

declare module 'hashring' {
  // eslint-disable-next-line no-restricted-syntax -- the shape of the package, not of our code
  export default class HashRing {
    constructor(servers: Readonly<Record<string, { readonly vnodes: number }>>, algorithm?: string);
    /** Distinct servers in order of preference for `key`, clockwise from its point. */
    range(key: string, size?: number, unique?: boolean): string[];
  }
}
