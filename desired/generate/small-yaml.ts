import { parseYamlDocuments } from '#base';
import type { Json } from '#base';
import { SizeLimitExceeded } from '../errors.ts';
import type { FileNode } from '../fetch/files/tree.ts';

/**
 * The limit for a file of metadata (a Chart.yaml, a kustomization): the main thread always parses
 * those.
 */
const maxSmallYamlChars = 256 * 1024;

/**
 * The documents of a file that is small by nature: a Chart.yaml, a kustomization, override
 * parameters.
 * @throws SizeLimitExceeded, YamlSyntaxError
 */
export function parseSmallYaml(text: string, dialect: 'v2' | 'v3' = 'v2'): Json[] {
  if (text.length > maxSmallYamlChars)
    throw new SizeLimitExceeded(`it has ${text.length} characters, more than the maximum of ${maxSmallYamlChars}`);
  return parseYamlDocuments(text, dialect);
}

/**
 * Checks the size of a chart's or overlay's metadata before it is read into memory: a file of zeros
 * is small only inside the repository.
 * @throws SizeLimitExceeded
 */
export function checkMetadataSize({ size }: FileNode, segments: readonly string[]): void {
  if (size > maxMetadataBytes)
    throw new SizeLimitExceeded(
      `${segments.join('/')} cannot be read: it has ${size} bytes, more than ${maxMetadataBytes}`,
    );
}

const maxMetadataBytes = 1024 * 1024;
