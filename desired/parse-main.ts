/**
 * Reads one file of manifests, and ends: a process of its own, started by the helper, so that a file which takes long or much memory stops
 * nothing else. In: a line of JSON about the file, then its content. Out: a line of JSON for each object.
 */
import { answerOf } from './generate/manifest-reader.ts';

const parts: Buffer[] = [];
process.stdin.on('data', (part: Buffer) => parts.push(part));
process.stdin.on('end', () => process.stdout.write(answerOf(Buffer.concat(parts))));
