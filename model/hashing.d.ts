/** Types of the hash library, limited to our use; it ships none. */
declare module 'fnv-plus' {
  const fnv: {
    /**
     * FNV-1a over the UTF-8 bytes of a text, 32 bits, unsigned. Stateless, unlike `hash`, `seed`
     * and `useUTF8`.
     */
    readonly fast1a32utf: (text: string) => number;
  };
  // eslint-disable-next-line no-restricted-syntax -- the shape of the package, not of our code
  export default fnv;
}
