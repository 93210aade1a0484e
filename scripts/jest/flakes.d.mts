export declare const maxFlakyFiles: number;
/** What a run reports whose failed files ran once more, alone. */
export declare function judgeRetries(run: {
  readonly failures: readonly { readonly file: string; readonly failure: string }[];
  readonly passedAlone: readonly string[];
  readonly knownFlakes: readonly string[];
}): { readonly passed: boolean; readonly lines: readonly string[] };
