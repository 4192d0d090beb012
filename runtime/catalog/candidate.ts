import { compareText } from '../text.ts';
import type { Span } from '../json/index.ts';
import type { ListedItem } from '../mcp/index.ts';
import type { ToolOverride } from './settings.ts';

/** An entry of a backend's list that is being merged into the gateway's. */
export interface Candidate {
  readonly backend: string;
  readonly isListed: boolean;
  readonly item: ListedItem;
  /** The entry's name before conflicts are resolved: the backend's own, or that of an override. */
  readonly name: string;
  readonly override?: ToolOverride;
}

/** A candidate with the name under which it is advertised. */
export interface Named extends Candidate {
  readonly advertised: string;
}

/**
 * Sorted by backend, then by the backend's own name: the first of equal names keeps it (docs/decisions.md
 * "Determinism").
 */
export const byBackend = (named: readonly Named[]): readonly Named[] =>
  named.toSorted((a, b) => compareText(a.backend, b.backend) || compareText(a.item.key, b.item.key));

/** The backend's own spelling of the key, as JSON text. */
export const ownKey = ({ bytes, keySpan }: { readonly bytes: Buffer; readonly keySpan: Span }): Buffer =>
  bytes.subarray(keySpan.start, keySpan.end);
