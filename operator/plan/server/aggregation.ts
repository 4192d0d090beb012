import { foundToolsIn } from '../contract.ts';
import type { ConfigFiles } from '../plan.ts';
import { lookUpIn } from '../references.ts';
import type { SpecInput } from './part.ts';

/** One entry of `config.aggregation.tools`. */
interface WorkloadTools {
  readonly workload: string;
  readonly excludeAll?: boolean;
  readonly filter?: unknown;
  readonly overrides?: unknown;
  readonly toolConfigRef?: { readonly name: string };
}

/** `config.aggregation` as the file spells it: what a toolConfigRef names stands in place of `filter` and `overrides` (spec). */
export const aggregation = (input: SpecInput): unknown => {
  const written = input.spec.config?.['aggregation'] as { readonly tools?: readonly WorkloadTools[] } | undefined;
  return written?.tools === undefined
    ? written
    : { ...written, tools: written.tools.map((tools) => resolved(tools, input)) };
};

const resolved = ({ toolConfigRef, ...written }: WorkloadTools, { references, files }: SpecInput): unknown => {
  if (toolConfigRef === undefined) return written;
  const { filter: _filter, overrides: _overrides, ...rest } = written;
  const target = lookUpIn(references)('MCPToolConfig', toolConfigRef.name);
  if (target === undefined) return { ...rest, ...asBefore(written.workload, files) };
  const { toolsFilter, toolsOverride } = target['spec'] as ToolConfigSpec;
  return {
    ...rest,
    ...(toolsFilter !== undefined && { filter: toolsFilter }),
    ...(toolsOverride !== undefined && { overrides: toolsOverride }),
  };
};

interface ToolConfigSpec {
  readonly toolsFilter?: readonly string[];
  readonly toolsOverride?: Readonly<Record<string, unknown>>;
}

/** Decisions "Last good spec": what came from a lost object stays as it was; where nobody knows that any more, no tool is shown that it may have hidden. */
const asBefore = (workload: string, files: ConfigFiles | undefined): object => {
  const before = files && foundToolsIn(files, workload);
  if (before === undefined) return { excludeAll: true };
  const { excludeAll, filter, overrides } = before;
  return {
    ...(excludeAll !== undefined && { excludeAll }),
    ...(filter !== undefined && { filter }),
    ...(overrides !== undefined && { overrides }),
  };
};
