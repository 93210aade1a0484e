// Writes the table of docs/health.md from the table of checks in health/custom/. With --check it
// writes nothing and exits with 1 if the page is stale.
import { join } from 'node:path';
import { importSource, putBetween } from './generated.mjs';
import { root } from '../root.mjs';

const { checksTable, customChecks } = await importSource('health/index.ts');
const mark = '<!-- from here on: node scripts/generate/health-docs.mjs -->';
putBetween(join(root, 'docs', 'health.md'), [mark], checksTable(customChecks));
