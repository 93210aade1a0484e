import { messageOf, outsideText } from '#base';
import type { CommandResult } from '../command/types.ts';
import { CommandError, ToolFailed, ToolMissing } from '../errors.ts';
import { compareVersions, parseVersion } from '../fetch/shared/semver.ts';
import type { DesiredLimits } from '../limits.ts';
import type { FairRenderer } from '../render/fair.ts';
import type { RenderShare, RenderStep, WaitingRender } from '../render/types.ts';

export type ToolName = 'helm' | 'kustomize' | 'jsonnet';

/** A program that the renderer has, in a supported version. */
export interface InstalledTool {
  readonly name: ToolName;
  readonly version: string;
  /** A binary that administrators configured, by its path in the renderer's file system. */
  readonly binary?: string;
}

const oldestVersions = {
  helm: { major: 3, minor: 14, patch: 0, pre: '' },
  kustomize: { major: 5, minor: 0, patch: 0, pre: '' },
  jsonnet: { major: 0, minor: 20, patch: 0, pre: '' },
} as const;

/** One run of a program for a source. */
export interface ToolStep extends Omit<RenderStep, 'program' | 'binary'> {
  readonly tool: InstalledTool;
}

/** Files that are not read yet, and the programs to run over them. */
export interface ToolRequest extends Pick<WaitingRender, 'inputBytes' | 'prepare' | 'readInput'> {
  readonly steps: readonly ToolStep[];
  readonly share: RenderShare;
  /** Texts to redact from messages. Called only if there is a message. */
  readonly secrets?: () => readonly string[];
}

/**
 * The programs that render sources. They run in the renderer, which sees only the files of the
 * request.
 */
export class RenderTools {
  readonly #deps: { readonly renderer: FairRenderer; readonly limits: DesiredLimits };

  constructor(deps: { readonly renderer: FairRenderer; readonly limits: DesiredLimits }) {
    this.#deps = deps;
  }

  /**
   * Finds a program that can run. A missing program is looked for again on each call.
   * @throws ToolMissing, which explains how to install it; RendererUnavailable
   */
  async find(name: ToolName, signal: AbortSignal, binary?: string): Promise<InstalledTool> {
    const oldest = oldestVersions[name];
    const needed = `${oldest.major}.${oldest.minor} or newer`;
    const version = await this.#versionOf(name, binary, signal);
    if (version === undefined)
      throw new ToolMissing(
        `${binary ?? name} is not installed where sources are rendered, or not on PATH: install ${name} ${needed} there (the image of Driftless has it)`,
      );
    const parsed = parseVersion(version);
    if (parsed !== undefined && compareVersions(parsed, oldest) < 0)
      throw new ToolMissing(`${binary ?? name} has version ${version}, but ${needed} is required`);
    return { name, version, ...(binary === undefined ? {} : { binary }) };
  }

  /** The results of all steps. @throws ToolFailed with the output of the program that failed */
  async render(request: ToolRequest, signal: AbortSignal): Promise<readonly CommandResult[]> {
    const results = await this.results(request, signal);
    for (const [i, { exitCode, stderr }] of results.entries())
      if (exitCode !== 0)
        throw new ToolFailed(
          `\`${shownCommand(request.steps[i], request)}\` failed exit status ${exitCode ?? 'none'}: ${stderr}`,
        );
    return results;
  }

  /**
   * The results of the steps that ran; the last one may have failed. Their messages are redacted.
   */
  async results(request: ToolRequest, signal: AbortSignal): Promise<readonly CommandResult[]> {
    const { limits, renderer } = this.#deps;
    const { inputBytes, prepare, readInput, share } = request;
    const steps = request.steps.map(({ tool, ...step }) => ({
      ...step,
      program: tool.name,
      ...(tool.binary === undefined ? {} : { binary: tool.binary }),
    }));
    const bounds = {
      timeoutMs: limits.toolTimeoutMs,
      maxOutputBytes: limits.maxToolBytes,
      maxMemoryBytes: limits.maxToolMemoryBytes,
    };
    const result = await renderer.render({ inputBytes, prepare, readInput, steps, share, ...bounds }, signal);
    return result.steps.map((step) => ({ ...step, stderr: redactedOutput(step.stderr.trim(), request) }));
  }

  async #versionOf(name: ToolName, binary: string | undefined, signal: AbortSignal): Promise<string | undefined> {
    try {
      return await this.#deps.renderer.version(name, binary, signal);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      throw new ToolMissing(`cannot run ${binary ?? name}: ${messageOf(error)}`);
    }
  }
}

function shownCommand(step: ToolStep | undefined, request: Pick<ToolRequest, 'secrets'>): string {
  return redactedOutput([step?.tool.name ?? '', ...(step?.args ?? [])].join(' '), request);
}

/** Removes credentials, and the hundreds of API versions (Argo CD: cleanupTemplateOutput). */
function redactedOutput(text: string, { secrets }: Pick<ToolRequest, 'secrets'>): string {
  if (text === '') return '';
  const clean = text.replaceAll(/(--(?:helm-)?api-versions[ =]\S+ )+/g, '<api versions removed> ');
  return outsideText('program', clean, { hidden: secrets?.() ?? [] }).slice(0, 8192);
}
