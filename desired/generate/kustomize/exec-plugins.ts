import { isObject, outsideText, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import { DesiredError } from '../../errors.ts';
import { parseSmallYaml } from '../small-yaml.ts';
import { mapOf, textOf } from '../options.ts';

const wayOut =
  'the renderer starts no programs for a source: render it with a config management plugin, or with the repo-server of Argo CD';

/**
 * Refuses a generator, transformer or validator that runs a program: an exec plugin by its kind, or
 * a function of an annotation. KSOPS is both.
 * @throws DesiredError
 */
export function refuseProgram(config: JsonObject, where: string): void {
  const kind = textOf(config, 'kind');
  const apiVersion = textOf(config, 'apiVersion');
  if (kind === '' || apiVersion === '' || apiVersion === 'builtin') return;
  const program = functionOf(config) ?? 'a plugin of kustomize';
  const shown = outsideText('field', `"${textOf(metadataOf(config), 'name')}" (${kind} of ${apiVersion})`);
  throw new DesiredError('DESIRED_EXEC_PLUGIN', `${where}: ${shown} runs ${program}, and ${wayOut}`, {
    retry: 'never',
  });
}

function metadataOf(config: JsonObject): JsonObject {
  const metadata = ownMember(config, 'metadata');
  return isObject(metadata) ? metadata : {};
}

/** The program or container that a function annotation runs. Undefined: no such annotation. */
function functionOf(config: JsonObject): string | undefined {
  const annotations = mapOf(metadataOf(config), 'annotations');
  const text = annotations['config.kubernetes.io/function'] ?? annotations['config.k8s.io/function'];
  if (text === undefined) return undefined;
  const [spec] = readSpec(text);
  for (const [member, field, what] of [
    ['exec', 'path', 'the program'],
    ['container', 'image', 'the container'],
  ] as const) {
    const value = spec !== undefined && isObject(spec) ? ownMember(spec, member) : undefined;
    if (value !== undefined && isObject(value)) return outsideText('field', `${what} "${textOf(value, field)}"`);
  }
  return 'a function';
}

function readSpec(text: string): readonly Json[] {
  try {
    return parseSmallYaml(text, 'v3');
  } catch {
    return [];
  }
}
