/**
 * One mutation of the hand-over protocol: `from`, which occurs exactly once in `file`, becomes
 * `to`.
 */
export interface Mutation {
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** The one test that must kill it. */
  readonly by?: { readonly file: string; readonly test: string };
  /** Why no test can kill it. */
  readonly equivalent?: string;
}

export const mutations: readonly Mutation[];
