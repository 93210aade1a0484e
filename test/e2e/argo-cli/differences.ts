/** A step whose output differs between the two controllers. */
export interface CliDifference {
  /** The row in docs/compatibility.md that explains it. */
  readonly row: string;
  /** Converts the output beside Argo CD's controller to the expected one beside ours. */
  readonly becomes: (text: string) => string;
}

/** In all steps but those with a difference of their own. */
export const everywhere: readonly CliDifference[] = [
  {
    row: '`stringData` of a Secret',
    becomes: (text) => text.replaceAll('secret/token configured', 'secret/token unchanged'),
  },
];

/** By the name of the step. */
export const differences: Readonly<Record<string, CliDifference>> = {
  // The previous sync replaced the objects, and with them the annotation.
  'app sync --info reason=test, then': {
    row: 'the message of an applied resource',
    becomes: (text) => text.replaceAll(/\. Warning: resource \S+ is missing the .* patched automatically\./g, ''),
  },
};
