import { ownMember } from '#base';
import type { JsonObject } from '#base';
import { DesiredError } from '../../errors.ts';
import type { RenderFile } from '../../render/types.ts';
import { buildEnvironment, substituteIn } from '../environment.ts';
import { listOf, textOf } from '../options.ts';
import type { RenderJob } from '../plan.ts';
import { formatAssignment, formatPath, parseSetLine, SetLineError } from './strvals.ts';
import type { ValueAssignment } from './strvals.ts';

/** The folder of parameter files in the staging folder. */
export const parametersFolder = 'parameters';

/** Longer texts go into a file, because the system limits an argument to 128 KiB. */
const maxArgumentBytes = 64 * 1024;

export interface ParameterArguments {
  readonly args: readonly string[];
  readonly files: readonly RenderFile[];
}

interface HelmParameter {
  readonly flag: '--set' | '--set-string';
  readonly line: string;
}

/**
 * `helm.parameters` as helm arguments that set one value each. Lines are parsed here like helm
 * parses them, and written again with everything escaped, so no value can set another one. A values
 * file is no alternative: helm reads its integers as floats.
 * @throws DesiredError with helm's text
 */
export function parameterArguments(job: RenderJob, options: JsonObject, up: string): ParameterArguments {
  const args: string[] = [];
  const files: RenderFile[] = [];
  for (const { flag, line } of parametersOf(job, options))
    for (const assignment of assignmentsIn(flag, line)) {
      const argument = formatAssignment(assignment);
      const { value, path } = assignment;
      if (value.kind !== 'text' || Buffer.byteLength(argument) <= maxArgumentBytes) {
        args.push(`${flag}=${argument}`);
        continue;
      }
      const name = `${parametersFolder}/text-${files.length}`;
      files.push({ path: name, content: Buffer.from(value.text) });
      args.push(`--set-file=${formatPath(path)}=${up}${name}`);
    }
  return { args, files };
}

/**
 * The argument that sets a value to the content of a file, which has a generated name.
 * @throws DesiredError
 */
export function fileParameterArgument(name: string, file: string): string {
  const [only, ...others] = assignmentsIn('--set-file', `${name}=x`);
  if (only?.value.kind === 'text' && only.value.text === 'x' && others.length === 0)
    return `--set-file=${formatPath(only.path)}=${file}`;
  throw new DesiredError(
    'DESIRED_SOURCE',
    `helm.fileParameters: the name ${JSON.stringify(name)} is refused: it must name one value`,
    { retry: 'never' },
  );
}

/**
 * If several parameters have the same name, the last wins among those with `forceString`, and among
 * those without it. helm prefers the text, wherever it stands in the list.
 */
function parametersOf(job: RenderJob, options: JsonObject): Iterable<HelmParameter> {
  const substitute = substituteIn(buildEnvironment(job));
  const all = new Map<string, HelmParameter>();
  for (const parameter of listOf(options, 'parameters')) {
    const [name, value] = [textOf(parameter, 'name'), substitute(textOf(parameter, 'value'))];
    const flag = ownMember(parameter, 'forceString') === true ? '--set-string' : '--set';
    all.set(`${flag} ${name}`, { flag, line: `${name}=${withoutCommas(value)}` });
  }
  return all.values();
}

/**
 * Escapes commas, which would begin the next parameter, except in a list in braces (Argo CD:
 * cleanSetParameters).
 */
function withoutCommas(value: string): string {
  if (value.startsWith('{') && value.endsWith('}')) return value;
  return value.replaceAll(/(^|[^\\]),/g, '$1\\,').replaceAll(/(^|[^\\]),/g, '$1\\,');
}

function assignmentsIn(flag: string, line: string): readonly ValueAssignment[] {
  if (line.includes('\0')) throw refused(flag, 'it has a NUL character');
  try {
    return parseSetLine(line);
  } catch (error) {
    if (!(error instanceof SetLineError)) throw error;
    throw refused(flag, error.message);
  }
}

function refused(flag: string, why: string): DesiredError {
  return new DesiredError('DESIRED_SOURCE', `failed parsing ${flag} data: ${why}`, { retry: 'never' });
}
