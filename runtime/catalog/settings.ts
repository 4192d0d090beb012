import type { Config } from '../config/index.ts';

/** What `config.aggregation` says about names. */
export interface NamingSettings {
  readonly conflictResolution: Config['aggregation']['conflictResolution'];
  /** Of rule `prefix`. */
  readonly prefixFormat: string;
  /** Backends in order of precedence; of rule `priority`. */
  readonly priorityOrder: readonly string[];
}

/** `config.aggregation` as the catalogue takes it. */
export interface AggregationSettings {
  readonly naming: NamingSettings;
  readonly excludeAllTools: boolean;
  /** By backend name. */
  readonly tools: ReadonlyMap<string, WorkloadTools>;
}

/** What is said about the tools of one backend. */
export interface WorkloadTools {
  readonly excludeAll: boolean;
  /** Names to advertise; undefined: all. */
  readonly filter?: readonly string[];
  /** By the backend's own name of the tool. */
  readonly overrides: ReadonlyMap<string, ToolOverride>;
}

/** What is given replaces the backend's value. */
export interface ToolOverride {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** Field by field. */
  readonly annotations?: Readonly<Record<string, string | boolean | undefined>> | undefined;
}
