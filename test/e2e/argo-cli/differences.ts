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

const ignoredFile = `CONDITION MESSAGE LAST TRANSITION
IgnoredFileWarning The file is ignored, as it is no manifest: app/c.yaml: document 1: line 2, column 1: unexpected end of the stream within a flow collection. With prune, objects that it had are deleted <time>`;

/** By the name of the step. */
export const differences: Readonly<Record<string, CliDifference>> = {
  // The previous sync replaced the objects, and with them the annotation.
  'app sync --info reason=test, then': {
    row: 'the message of an applied resource',
    becomes: (text) => text.replaceAll(/\. Warning: resource \S+ is missing the .* patched automatically\./g, ''),
  },
  'app get, unreadable': {
    row: 'a YAML file that has some keys of a manifest but is none',
    becomes: (text) => text.replace('Health Status: Healthy\n\n', (found) => `${found}${ignoredFile}\n\n\n`),
  },
};
