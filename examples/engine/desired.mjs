// Renders a folder of manifests, and refuses one that exceeds a limit.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRenderer } from '@driftless/engine/desired';

const renderer = await openRenderer({ env: process.env, limits: { maxObjects: 2 } });
const folder = mkdtempSync(join(tmpdir(), 'manifests-'));
const configMap = (name) => `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n`;
writeFileSync(join(folder, 'a.yaml'), `${configMap('one')}---\n${configMap('two')}`);
try {
  const first = await renderer.render({ source: { folder } });
  console.log(first.sourceType, first.objects.map(({ metadata }) => metadata.name).join(' '));
  const again = await renderer.render({ source: { folder } });
  console.log('same revision:', again.revision === first.revision);

  writeFileSync(join(folder, 'b.yaml'), configMap('three'));
  await renderer.render({ source: { folder } }).catch((error) => console.log(`${error.code}: ${error.message}`));

  const { objects } = await renderer.render({ source: { folder, directory: { exclude: 'b.yaml' } } });
  console.log(`${objects.length} objects without b.yaml`);
} finally {
  rmSync(folder, { recursive: true });
  await renderer.close();
}
