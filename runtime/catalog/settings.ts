import type { Config } from '../config/index.ts';

/** What `config.aggregation` says about names. */
export interface NamingSettings {
  readonly conflictResolution: Config['aggregation']['conflictResolution'];
  /** For rule `prefix`. */
  readonly prefixFormat: string;
  /** Backends in order of precedence; for rule `priority`. */
  readonly priorityOrder: readonly string[];
}

/** `config.aggregation` in the form that the catalog uses. */
export interface AggregationSettings {
  readonly naming: NamingSettings;
  readonly excludeAllTools: boolean;
  /** By backend name. */
  readonly tools: ReadonlyMap<string, WorkloadTools>;
}

/** Settings for the tools of one backend. */
export interface WorkloadTools {
  readonly excludeAll: boolean;
  /** Names to advertise; undefined: all. */
  readonly filter?: readonly string[];
  /** By the backend's own name of the tool. */
  readonly overrides: ReadonlyMap<string, ToolOverride>;
}

/** Each value that is set replaces the backend's. */
export interface ToolOverride {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** Overrides single annotations. */
  readonly annotations?: Readonly<Record<string, string | boolean | undefined>> | undefined;
}
