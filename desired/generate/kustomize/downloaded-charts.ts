import { hashJson, outsideText } from '#base';
import { SizeLimitExceeded, UnsupportedSource } from '../../errors.ts';
import type { Snapshot } from '../../fetch/files/snapshot.ts';
import { walk } from '../../fetch/files/tree.ts';
import type { FileNode } from '../../fetch/files/tree.ts';
import type { DesiredLimits } from '../../limits.ts';
import type { ReplacedFiles } from './replaced-files.ts';

/** A chart that kustomize would pull. */
export interface PulledChart {
  /** `https://`, `http://` or `oci://`. */
  readonly repo: string;
  readonly name: string;
  /** A version or a constraint. */
  readonly version: string;
}

/** @throws DesiredError if the project does not permit the repository, or the download fails */
export type ChartDownload = (chart: PulledChart, signal: AbortSignal) => Promise<Snapshot>;

const maxCharts = 32;

/**
 * The charts of an overlay that are not in its repository. Our own client downloads them after all
 * kustomizations were read; kustomize finds them where it would have pulled them to.
 */
export class DownloadedCharts {
  readonly #download: ChartDownload;
  /** Folders of the staging folder, by chart. */
  readonly #wanted = new Map<string, { readonly chart: PulledChart; readonly folders: Set<string> }>();
  readonly #keys: string[] = [];

  constructor(download: ChartDownload) {
    this.#download = download;
  }

  /**
   * Requests a chart for a folder of the staging folder.
   * @param where the kustomization, for messages
   * @throws UnsupportedSource, SizeLimitExceeded
   */
  want(chart: PulledChart, folder: string, where: string): void {
    if (!/^(?:https?|oci):\/\//.test(chart.repo))
      throw new UnsupportedSource(
        `${where} has a Helm chart of the repository "${outsideText('url', chart.repo)}", which is neither https, http nor oci`,
      );
    const id = hashJson([chart.repo, chart.name, chart.version]);
    const known = this.#wanted.get(id) ?? { chart, folders: new Set() };
    this.#wanted.set(id, known);
    known.folders.add(folder);
    if (this.#wanted.size > maxCharts)
      throw new SizeLimitExceeded(`the overlay has more than ${maxCharts} Helm charts to download`);
  }

  /** Downloads the charts, one after the other. @throws DesiredError */
  async download(replaced: ReplacedFiles, limits: DesiredLimits, signal: AbortSignal): Promise<void> {
    let [files, bytes] = [0, 0];
    for (const { chart, folders } of this.#wanted.values()) {
      const snapshot = await this.#download(chart, signal);
      this.#keys.push(`${snapshot.key} ${snapshot.revision}`);
      const found = filesOf(snapshot);
      files += found.length * folders.size;
      bytes += found.reduce((sum, { node }) => sum + node.size, 0) * folders.size;
      if (files > limits.maxCheckoutFiles || bytes > limits.maxCheckoutBytes)
        throw new SizeLimitExceeded(
          `the Helm charts of the overlay have more than ${limits.maxCheckoutFiles} files or ${limits.maxCheckoutBytes} bytes`,
        );
      for (const folder of folders)
        for (const { path, node } of found) replaced.copyTo(`${folder}/${path}`, { snapshot, node });
    }
  }

  /** The downloaded versions and the credentials that may read them. */
  key(): readonly string[] {
    return this.#keys;
  }
}

/** Helm ignores the links of a packed chart. */
function filesOf(snapshot: Snapshot): readonly { readonly path: string; readonly node: FileNode }[] {
  return [...walk(snapshot.tree.root, true)].flatMap(({ path, node }) =>
    node.kind === 'file' ? [{ path, node }] : [],
  );
}
