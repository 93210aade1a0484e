import {
  isAnyObject,
  isBoolean,
  isLimitMs,
  isListOf,
  isNonEmptyText,
  isShape,
  isSignal,
  isText,
  isWholeIn,
} from '../options/checks.ts';
import type { RendererOptions, RenderInputs, RenderLimits, RepositoryLogin } from './types.ts';

const isAmount = isWholeIn(1, Number.MAX_SAFE_INTEGER);

const isRenderLimits = isShape<RenderLimits>({
  deadlineMs: isLimitMs,
  fetchTimeoutMs: isLimitMs,
  maxManifestBytes: isWholeIn(0, Number.MAX_SAFE_INTEGER),
  maxObjects: isAmount,
  maxMirrorBytes: isAmount,
  maxCheckoutBytes: isAmount,
  maxCheckoutFiles: isAmount,
  maxChartBytes: isAmount,
  toolTimeoutMs: isLimitMs,
  maxToolBytes: isAmount,
  maxToolMemoryBytes: isAmount,
  deniedNetworks: isListOf(isNonEmptyText),
});

export const checkRendererOptions = isShape<RendererOptions>(
  { env: isAnyObject, cacheDir: isNonEmptyText, limits: isRenderLimits, allowLocal: isBoolean },
  ['env'],
);

export const checkRenderInputs = isShape<RenderInputs>(
  {
    source: isAnyObject,
    name: isNonEmptyText,
    namespace: isText,
    kubeVersion: isText,
    apiVersions: isListOf(isText),
    login: isShape<RepositoryLogin>({ username: isText, password: isText, sshPrivateKey: isText }),
    signal: isSignal,
  },
  ['source'],
);
