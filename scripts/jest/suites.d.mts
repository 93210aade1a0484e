/** The files of each top folder, in parts of similar size. */
export declare function suitesOf(
  files: readonly string[],
): readonly { readonly name: string; readonly files: readonly string[] }[];
