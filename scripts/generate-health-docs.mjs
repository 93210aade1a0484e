// Writes the table of docs/health.md from the table of checks in health/custom/. Needs `npm run build`; a test holds the page to the table.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { checksTable, customChecks } = await import(pathToFileURL(join(root, 'dist', 'health', 'index.js')).href);
const path = join(root, 'docs', 'health.md');
const mark = '<!-- from here on: node scripts/generate-health-docs.mjs -->\n';
const [head] = readFileSync(path, 'utf8').split(mark);
writeFileSync(path, `${head}${mark}\n${checksTable(customChecks)}`);
