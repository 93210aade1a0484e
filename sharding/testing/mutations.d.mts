/** One small breakage of the hand-over protocol: `from`, which is in `file` of sharding/ once, becomes `to`. */
export interface Mutation {
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** The one test that is there to find it. */
  readonly by?: { readonly file: string; readonly test: string };
  /** Why no test can find it. */
  readonly equivalent?: string;
}

export const mutations: readonly Mutation[];
