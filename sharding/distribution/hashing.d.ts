/** Types for the part of the hash library that we use; it ships none. */
declare module 'hashring' {
  // eslint-disable-next-line no-restricted-syntax -- the shape of the package, not of our code
  export default class HashRing {
    constructor(servers: Readonly<Record<string, { readonly vnodes: number }>>, algorithm?: string);
    /** Distinct servers in order of preference for `key`, clockwise from its point. */
    range(key: string, size?: number, unique?: boolean): string[];
  }
}
