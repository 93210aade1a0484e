export const wallMutations: readonly {
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  readonly by: { readonly file: string; readonly test: string };
}[];
