import { isAbort, messageOf, stringifyJson } from '#base';
import type { JsonObject } from '#base';
import { DesiredError } from '../errors.ts';
import { inMemory } from '../fetch/files/staged-files.ts';
import type { RenderTools } from '../generate/tools.ts';
import { defaultCommitMessage, defaultReadme, messageData, readmeData } from './commit-texts.ts';
import type { HydratorMetadata } from './dry-commit.ts';

/** A template of argocd-cm, and the project on whose behalf it is rendered. */
export interface HydrationTemplate {
  /** Empty: the default text. */
  readonly template: string;
  readonly project: string;
}

const maxTextBytes = 2 ** 20;
const folder = 'texts';

/**
 * A chart whose only template renders the file `template` with each item of `data`. The results are
 * in Base64, because helm would change texts that look like YAML.
 */
const chart = {
  'Chart.yaml': 'apiVersion: v2\nname: texts\nversion: 0.0.0\n',
  'templates/texts.yaml': `texts:
{{- range (.Files.Get "data" | fromJson).items }}
- {{ tpl ($.Files.Get "template") . | b64enc | quote }}
{{- end }}
`,
};

/**
 * The texts of hydrated commits. A template of argocd-cm is rendered by the renderer's helm, with
 * the limits of charts.
 */
export class HydrationTexts {
  readonly #tools: RenderTools;

  constructor(tools: RenderTools) {
    this.#tools = tools;
  }

  /** The commit message. @throws DesiredError, CommandError */
  async message(own: HydrationTemplate, metadata: HydratorMetadata, signal: AbortSignal): Promise<string> {
    if (own.template === '') return defaultCommitMessage(metadata);
    const [text = ''] = await this.render(own, [messageData(metadata)], signal);
    return text;
  }

  /** README.md for each path of a commit. @throws DesiredError */
  async readmes(
    own: HydrationTemplate,
    paths: readonly HydratorMetadata[],
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    if (own.template === '') return paths.map(defaultReadme);
    try {
      return await this.render(own, paths.map(readmeData), signal);
    } catch (error) {
      if (isAbort(error)) throw error;
      const message = `failed to execute readme template: ${messageOf(error)}`;
      throw new DesiredError('DESIRED_TEMPLATE', message, { cause: error });
    }
  }

  /** Renders a template once for each item. @throws DesiredError, CommandError */
  async render(
    { template, project }: HydrationTemplate,
    items: readonly JsonObject[],
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const tool = await this.#tools.find('helm', signal);
    const texts = { ...chart, data: stringifyJson({ items }), template };
    const files = Object.entries(texts).map(([name, text]) => ({
      path: `${folder}/${name}`,
      content: Buffer.from(text),
    }));
    const unread = inMemory({ files, links: [] });
    const [result] = await this.#tools.results(
      {
        inputBytes: unread.bytes,
        readInput: (inner) => unread.read(inner),
        steps: [{ tool, args: ['template', '.'], cwd: folder, env: { TZ: 'UTC' } }],
        share: { project, repository: '' },
      },
      signal,
    );
    if (result?.exitCode !== 0) throw new DesiredError('DESIRED_TEMPLATE', reasonIn(result?.stderr ?? ''));
    return textsIn(Buffer.from(result.stdout).toString('utf8'), items.length);
  }
}

/** @throws DesiredError */
function textsIn(output: string, count: number): readonly string[] {
  const texts = [...output.matchAll(/^- "(.*)"$/gm)].map(([, text = '']) => Buffer.from(text, 'base64'));
  if (texts.length !== count)
    throw new DesiredError('DESIRED_TEMPLATE', `helm printed ${texts.length} texts instead of ${count}`);
  if (texts.some(({ byteLength }) => byteLength > maxTextBytes))
    throw new DesiredError('DESIRED_TEMPLATE', `the output has more than ${maxTextBytes} bytes`);
  return texts.map((text) => text.toString('utf8'));
}

/** The line of the template, and Go's reason, in what helm printed. */
function reasonIn(stderr: string): string {
  const text = stderr.replace(/\s*Use --debug flag to render out invalid YAML\s*$/, '').replace(/^Error: /, '');
  const failed = /^execution error at \(\S+\): ([^]*)$/.exec(text)?.[1];
  const [, line, reason] =
    /[^]*template: (?:gotpl|texts\/templates\/texts\.yaml):(\d+)(?::\d+)?: ([^]*)$/.exec(text) ?? [];
  if (failed !== undefined) return failed;
  return line === undefined ? text : `line ${line}: ${(reason ?? '').replace(/^executing "[^"]*" (?=at <)/, '')}`;
}
