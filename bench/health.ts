import { systemClock } from '#base';
import { compileHealthScripts, createLuaEngine, healthOf } from '#health';
import { defaultSettings } from '#model';
import type { KubeObject, Settings } from '#model';
import { medianSeconds } from './harness.ts';
import type { BenchContext, Benchmark } from './harness.ts';

const luaScript = `hs = {status = "Progressing", message = "Waiting"}
if obj.status ~= nil and obj.status.conditions ~= nil then
  for i, condition in ipairs(obj.status.conditions) do
    if condition.type == "Ready" and condition.status == "True" then
      hs.status = "Healthy"
      hs.message = condition.message
    end
  end
end
return hs`;

const certificateConditions = ['Issuing', 'Synced', 'Ready'].map((type) => ({
  type,
  status: type === 'Issuing' ? 'False' : 'True',
  reason: 'Done',
  message: 'the resource is up to date',
  lastTransitionTime: '2026-01-01T00:00:00Z',
}));

/** About 700 bytes, the median of the public cases. */
const certificate = {
  apiVersion: 'cert-manager.io/v1',
  kind: 'Certificate',
  metadata: { name: 'web', namespace: 'shop', generation: 3, labels: { app: 'web', tier: 'front' }, annotations: {} },
  spec: { secretName: 'web-tls', dnsNames: ['shop.example.com'], issuerRef: { name: 'main', kind: 'ClusterIssuer' } },
  status: { observedGeneration: 3, conditions: certificateConditions },
} as unknown as KubeObject;

async function healthMicroseconds(context: BenchContext, rules: Settings): Promise<number> {
  const times = context.smoke ? 100 : 20_000;
  const seconds = await medianSeconds(context.smoke ? 1 : 5, () => {
    for (let i = 0; i < times; i += 1) healthOf(certificate, rules);
  });
  return (seconds / times) * 1e6;
}

/**
 * Cost of the health of one custom resource: by the table of checks, and by an administrator's
 * script.
 */
export const healthBenchmark: Benchmark = {
  name: 'health',
  about:
    'microseconds for the health of one custom resource, by our table and by a warm Lua script (goals: 10 and 100)',
  async run(context) {
    const engine = await createLuaEngine(systemClock);
    const overrides = {
      'cert-manager.io/Certificate': { healthLua: luaScript, useOpenLibs: false, knownTypeFields: [] },
    };
    const scripted = { ...defaultSettings, overrides, healthScripts: compileHealthScripts(engine, overrides) };
    const table = await healthMicroseconds(context, defaultSettings);
    const lua = await healthMicroseconds(context, scripted);
    return { table_microseconds: table, lua_microseconds: lua, lua_to_table_ratio: lua / table };
  },
};
