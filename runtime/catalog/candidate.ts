import { compareText } from '../compare-text.ts';
import type { Span } from '../json-bytes.ts';
import type { ListedItem } from '../listed.ts';
import type { ToolOverride } from './settings.ts';

/** An entry of a backend's list on its way into ours. */
export interface Candidate {
  readonly backend: string;
  readonly isListed: boolean;
  readonly item: ListedItem;
  /** What it is called before conflicts are resolved: its own name, or the one an override gives it. */
  readonly name: string;
  readonly override?: ToolOverride;
}

/** One that has its name here. */
export interface Named extends Candidate {
  readonly advertised: string;
}

/** In the order in which equal names are given out: by backend, then by the backend's own name (decisions: Determinism). */
export const byBackend = (named: readonly Named[]): readonly Named[] =>
  named.toSorted((a, b) => compareText(a.backend, b.backend) || compareText(a.item.key, b.item.key));

/** The backend's own spelling of the key, as JSON text. */
export const ownKey = ({ bytes, keySpan }: { readonly bytes: Buffer; readonly keySpan: Span }): Buffer =>
  bytes.subarray(keySpan.start, keySpan.end);
