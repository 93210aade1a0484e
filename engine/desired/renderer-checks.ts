import {
  mustBeObject,
  mustBeBoolean,
  mustBeLimitMs,
  mustBeListOf,
  mustBeNonEmptyText,
  mustBeShape,
  mustBeSignal,
  mustBeText,
  mustBeWholeIn,
} from '../options/checks.ts';
import type { RendererOptions, RenderInputs, RenderLimits, RepositoryLogin } from './types.ts';

const mustBeAmount = mustBeWholeIn(1, Number.MAX_SAFE_INTEGER);

const mustBeRenderLimits = mustBeShape<RenderLimits>({
  deadlineMs: mustBeLimitMs,
  fetchTimeoutMs: mustBeLimitMs,
  maxManifestBytes: mustBeWholeIn(0, Number.MAX_SAFE_INTEGER),
  maxObjects: mustBeAmount,
  maxMirrorBytes: mustBeAmount,
  maxCheckoutBytes: mustBeAmount,
  maxCheckoutFiles: mustBeAmount,
  maxChartBytes: mustBeAmount,
  toolTimeoutMs: mustBeLimitMs,
  maxToolBytes: mustBeAmount,
  maxToolMemoryBytes: mustBeAmount,
  deniedNetworks: mustBeListOf(mustBeNonEmptyText),
});

export const checkRendererOptions = mustBeShape<RendererOptions>(
  { env: mustBeObject, cacheDir: mustBeNonEmptyText, limits: mustBeRenderLimits, allowLocal: mustBeBoolean },
  ['env'],
);

export const checkRenderInputs = mustBeShape<RenderInputs>(
  {
    source: mustBeObject,
    name: mustBeNonEmptyText,
    namespace: mustBeText,
    kubeVersion: mustBeText,
    apiVersions: mustBeListOf(mustBeText),
    login: mustBeShape<RepositoryLogin>({ username: mustBeText, password: mustBeText, sshPrivateKey: mustBeText }),
    signal: mustBeSignal,
  },
  ['source'],
);
