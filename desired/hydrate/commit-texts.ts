import { runTemplate } from './template/run-template.ts';
import { TemplateError } from './template/template-error.ts';
import { GoList, GoStruct, templateValue } from './template/template-values.ts';
import { metadataJson } from './dry-commit.ts';
import type { HydratorMetadata, RelatedCommit } from './dry-commit.ts';

/** The template of the commit message, if `sourceHydrator.commitMessageTemplate` is not set. */
export const defaultCommitMessageTemplate = `{{.metadata.drySha | trunc 7}}: {{ .metadata.subject }}
{{- if .metadata.body }}

{{ .metadata.body }}
{{- end }}
{{ range $ref := .metadata.references }}
{{- if and $ref.commit $ref.commit.author }}
Co-authored-by: {{ $ref.commit.author }}
{{- end }}
{{- end }}
{{- if .metadata.author }}
Co-authored-by: {{ .metadata.author }}
{{- end }}
`;

/** The template of README.md, if `sourceHydrator.readmeMessageTemplate` is not set. */
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

/** Renders the commit message. @throws TemplateError */
export function commitMessage(template: string, metadata: HydratorMetadata, nowMs: number): string {
  return runTemplate(template, templateValue({ metadata: metadataJson(metadata) }), { nowMs });
}

/** Renders README.md of a path. @throws TemplateError */
export function readmeText(template: string, metadata: HydratorMetadata, nowMs: number): string {
  try {
    return runTemplate(template, goMetadata(metadata), { nowMs });
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    throw new TemplateError(`failed to execute readme template: ${error.message}`);
  }
}

/** The metadata under the names of Go's fields, which the template of README.md uses. */
function goMetadata(metadata: HydratorMetadata): GoStruct {
  const { repoURL, drySha, commands = [], author = '', date = '', subject = '', body = '', references = [] } = metadata;
  return new GoStruct('hydrator.HydratorCommitMetadata', {
    RepoURL: repoURL,
    DrySHA: drySha,
    Commands: new GoList(commands, 'string'),
    Author: author,
    Date: date,
    Subject: subject,
    Body: body,
    References: new GoList(
      references.map((commit) => new GoStruct('v1alpha1.RevisionReference', { Commit: goCommit(commit) })),
      'v1alpha1.RevisionReference',
    ),
  });
}

function goCommit(commit: RelatedCommit): GoStruct {
  const { author = '', date = '', subject = '', body = '', sha = '', repoURL = '' } = commit;
  return new GoStruct('v1alpha1.CommitMetadata', {
    Author: author,
    Date: date,
    Subject: subject,
    Body: body,
    SHA: sha,
    RepoURL: repoURL,
  });
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
