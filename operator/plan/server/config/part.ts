import type { KubeObject } from '../../../object.ts';
import { valueIn } from '../../contract.ts';
import type { ConfigFiles } from '../../plan.ts';
import type { ResolvedReference } from '../../references.ts';
import type { ServerSpec } from '../../server-spec.ts';
import type { Settings } from '../../settings.ts';
import type { WrittenSpec } from '../../written-spec.ts';

/** A value of the configuration file. */
export type Value = Readonly<Record<string, unknown>>;

/** The newest spec of a server, or the accepted one, as it was written. */
export interface WrittenInput {
  readonly written: WrittenSpec;
  readonly references: readonly ResolvedReference[];
  /**
   * The files of the accepted spec when it is that which is rendered: they stand in for a reference that went missing.
   */
  readonly files?: ConfigFiles;
}

/** The same in the words that the files are made of. */
export interface SpecInput extends WrittenInput {
  readonly spec: ServerSpec;
}

/** What every part of the files is made of. */
export interface PartInput extends SpecInput {
  readonly server: KubeObject;
  readonly settings: Settings;
}

/**
 * docs/decisions.md "Last good spec": what the accepted files say under a key, for a part that came from a lost object.
 */
export const before = ({ files }: Pick<SpecInput, 'files'>, key: string): unknown => files && valueIn(files)[key];
