/** A step of which the two say something else, and why. */
export interface Difference {
  /** Its row in docs/compatibility.md. */
  readonly row: string;
  /** Makes of what is said beside Argo CD's own controller what is said beside ours. */
  readonly becomes: (text: string) => string;
}

/** By the name of the step. */
export const differences: Readonly<Record<string, Difference>> = {
  // The sync before it has replaced the objects, and with them the annotation.
  'app sync --info reason=test': {
    row: 'the message of an applied resource',
    becomes: (text) => text.replaceAll(/\. Warning: resource \S+ is missing the .* patched automatically\./g, ''),
  },
};
