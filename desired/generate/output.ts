import { yieldToLoop } from '#base';
import type { KubeObject } from '#model';
import { SizeLimitExceeded } from '../errors.ts';
import type { ManifestFile } from './documents.ts';
import type { ManifestReader } from './manifest-reader.ts';
import type { RenderedManifests } from './plan.ts';
import { unnamedIn } from './unnamed.ts';
import type { UnnamedObject } from './unnamed.ts';

/** Documents for each allowed object, most of them empty. */
const documentsPerObject = 4;
/** The cost of a document besides its text, in characters of text. */
const documentCost = 256;

/**
 * The objects that a program printed, as YAML documents. Each document must be an object: unlike a
 * directory, a program's output holds no other files. Yields between documents, so that the output
 * of a big chart does not block the event loop. Empty documents are limited too: megabytes of
 * separators would keep it busy for a minute.
 * @throws ManifestError, SizeLimitExceeded
 */
export async function objectsPrinted(
  output: Uint8Array,
  program: string,
  { reader, limits }: { readonly reader: ManifestReader; readonly limits: { readonly maxObjects: number } },
  signal: AbortSignal,
): Promise<RenderedManifests> {
  const objects: KubeObject[] = [];
  const unnamed: UnnamedObject[] = [];
  const text = Buffer.from(output.buffer, output.byteOffset, output.byteLength).toString('utf8');
  let work = 0;
  for await (const { file, objects: some } of reader.read(filesPrinted(text, program, limits.maxObjects), signal)) {
    for (const object of some) objects.push(object);
    unnamed.push(...unnamedIn(some, file.path));
    if (objects.length > limits.maxObjects)
      throw new SizeLimitExceeded(`the source has more than ${limits.maxObjects} objects`);
    work += file.content.length + documentCost;
    if (work < 64 * 1024) continue;
    work = 0;
    await yieldToLoop();
    signal.throwIfAborted();
  }
  return { objects, unnamed, bytes: output.byteLength + 256 };
}

/** Each document as a file. */
function* filesPrinted(text: string, program: string, maxObjects: number): Generator<ManifestFile> {
  let i = 0;
  for (const document of documentsIn(text)) {
    i += 1;
    if (i > maxObjects * documentsPerObject)
      throw new SizeLimitExceeded(`${program} printed more than ${maxObjects * documentsPerObject} documents`);
    const template = /^# Source: (\S.*)$/m.exec(document)?.[1];
    const path = template ?? `document ${i} of what ${program} printed`;
    yield { path, name: 'output.yaml', content: Buffer.from(document), strict: true };
  }
}

/** Splits at the separators of YAML documents. */
function* documentsIn(text: string): Generator<string> {
  let from = 0;
  for (const { index } of text.matchAll(/^---(?=\s|$)/gm)) {
    yield text.slice(from, index);
    from = index + 3;
  }
  yield text.slice(from);
}
