import type { JsonObject } from '#base';
import { metadataJson } from './dry-commit.ts';
import type { HydratorMetadata, RelatedCommit } from './dry-commit.ts';

/** The template of README.md, if `sourceHydrator.readmeMessageTemplate` is not set: Argo CD's
 * commit server renders it. */
export const defaultReadmeTemplate = `# Manifest Hydration

To hydrate the manifests in this repository, run the following commands:

\`\`\`shell
git clone {{ .RepoURL }}
# cd into the cloned directory
git checkout {{ .DrySHA }}
{{ range $command := .Commands -}}
{{ $command }}
{{ end -}}\`\`\`
{{ if .References -}}

## References

{{ range $ref := .References -}}
{{ if $ref.Commit -}}
* [{{ $ref.Commit.SHA | mustRegexFind "[0-9a-f]+" | trunc 7 }}]({{ $ref.Commit.RepoURL }}): {{ $ref.Commit.Subject }} ({{ $ref.Commit.Author }})
{{ end -}}
{{ end -}}
{{ end -}}`;

/** Argo CD's commit message, if `sourceHydrator.commitMessageTemplate` is not set. */
export function defaultCommitMessage({ drySha, subject, body, references = [], author }: HydratorMetadata): string {
  const authors = [...references.map((commit) => commit.author), author].filter((name) => name !== undefined);
  return [
    `${drySha.slice(0, 7)}: ${subject === undefined || subject === '' ? noValue : subject}`,
    body ? `\n\n${body}` : '',
    '\n',
    ...authors.filter((name) => name !== '').map((name) => `\nCo-authored-by: ${name}`),
    '\n',
  ].join('');
}

/** Go's templates print this for a missing member. */
const noValue = '<no value>';

/** README.md as {@link defaultReadmeTemplate} renders it. */
export function defaultReadme({ repoURL, drySha, commands = [], references = [] }: HydratorMetadata): string {
  const related = references.map(({ sha = '', repoURL: url = '', subject = '', author = '' }) => {
    const shortSha = (/[0-9a-f]+/.exec(sha)?.[0] ?? '').slice(0, 7);
    return `* [${shortSha}](${url}): ${subject} (${author})\n`;
  });
  return [
    '# Manifest Hydration\n\nTo hydrate the manifests in this repository, run the following commands:\n\n',
    `\`\`\`shell\ngit clone ${repoURL}\n# cd into the cloned directory\ngit checkout ${drySha}\n`,
    ...commands.map((command) => `${command}\n`),
    '```\n',
    ...(related.length === 0 ? [] : ['## References\n\n', ...related]),
  ].join('');
}

/** The data of a template of the commit message. */
export function messageData(metadata: HydratorMetadata): JsonObject {
  return { metadata: metadataJson(metadata) };
}

/** The data of a template of README.md: the names of Go's fields. */
export function readmeData(metadata: HydratorMetadata): JsonObject {
  const { repoURL, drySha, commands = [], references = [], author = '', date = '', subject = '', body = '' } = metadata;
  return {
    RepoURL: repoURL,
    DrySHA: drySha,
    Commands: [...commands],
    Author: author,
    Date: date,
    Subject: subject,
    Body: body,
    References: references.map((commit) => ({ Commit: relatedData(commit) })),
  };
}

function relatedData(commit: RelatedCommit): JsonObject {
  const { author = '', date = '', subject = '', body = '', sha = '', repoURL = '' } = commit;
  return { Author: author, Date: date, Subject: subject, Body: body, SHA: sha, RepoURL: repoURL };
}

/**
 * The message as `git commit` stores it: without trailing spaces, without empty lines at the ends,
 * at most one empty line in a row.
 */
export function cleanMessage(text: string): string {
  const lines = text.split('\n').map((line) => line.replace(/[ \t\r\f\v]+$/, ''));
  const kept = lines.filter((line, i) => line !== '' || (i > 0 && lines[i - 1] !== ''));
  while (kept[0] === '') kept.shift();
  while (kept.at(-1) === '') kept.pop();
  return kept.length === 0 ? '' : `${kept.join('\n')}\n`;
}
