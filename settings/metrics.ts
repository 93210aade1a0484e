import type { MetricRegistry } from '#telemetry';
import type { ObservedSettings } from './observed-settings.ts';

/** Registers the metrics of the settings in force, computed at scrape time. */
export function registerMetrics(
  metrics: MetricRegistry,
  observed: Pick<ObservedSettings, 'unreadable' | 'vanishedSeconds' | 'isForgetful'>,
  unreadableSecrets: () => readonly string[],
): void {
  metrics.family({
    name: 'driftless_secret_unreadable',
    help: '1 for each cluster or repository Secret that cannot be used, and for one of the in-cluster while its deletion may be a passing one.',
    type: 'gauge',
    collect: () => unreadableSecrets().map((secret) => ({ labels: { secret }, value: 1 })),
  });
  metrics.family({
    name: 'driftless_setting_unreadable',
    help: '1 for each key of argocd-cm that narrows what is written and cannot be read; kept: whether its last readable value is in force.',
    type: 'gauge',
    collect: () => {
      const keys = new Map(observed.unreadable().map(({ key, isKept }) => [`${key} ${isKept}`, { key, isKept }]));
      return [...keys.values()].map(({ key, isKept }) => ({ labels: { key, kept: String(isKept) }, value: 1 }));
    },
  });
  const gauge = (name: string, help: string, value: () => number): void =>
    metrics.family({ name, help, type: 'gauge', collect: () => [{ labels: {}, value: value() }] });
  gauge(
    'driftless_settings_vanished_seconds',
    'How long argocd-cm has been missing or emptied while its last settings stay in force; 0 if it has not.',
    () => observed.vanishedSeconds(),
  );
  gauge('driftless_settings_unkept', '1 while a restart could forget the settings in force.', () =>
    Number(observed.isForgetful()),
  );
}
