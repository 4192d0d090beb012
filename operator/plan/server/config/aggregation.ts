import { foundToolsIn } from '../../contract.ts';
import type { ConfigFiles } from '../../plan.ts';
import { lookUpIn } from '../../references.ts';
import type { SpecInput } from './part.ts';
import type { ServerConfig } from '../../server-spec.ts';
import { specOf } from '../../../../crds/index.ts';

/** One entry of `config.aggregation.tools`. */
type WorkloadTools = NonNullable<NonNullable<ServerConfig['aggregation']>['tools']>[number];

/**
 * `config.aggregation` as the file spells it: what a toolConfigRef names stands in place of `filter` and `overrides`
 * (docs/aggregation.md "One configuration for several servers: tools[].toolConfigRef").
 */
export const aggregation = (input: SpecInput): unknown => {
  const written = input.spec.config?.aggregation;
  return written?.tools === undefined
    ? written
    : { ...written, tools: written.tools.map((tools) => resolved(tools, input)) };
};

const resolved = ({ toolConfigRef, ...written }: WorkloadTools, { references, files }: SpecInput): unknown => {
  if (toolConfigRef === undefined) return written;
  const { filter: _filter, overrides: _overrides, ...rest } = written;
  const target = lookUpIn(references)('MCPToolConfig', toolConfigRef.name);
  if (target === undefined) return { ...rest, ...asBefore(written.workload, files) };
  const { toolsFilter, toolsOverride } = specOf('MCPToolConfig', target);
  return {
    ...rest,
    ...(toolsFilter !== undefined && { filter: toolsFilter }),
    ...(toolsOverride !== undefined && { overrides: toolsOverride }),
  };
};

/**
 * docs/decisions.md "Last good spec": what came from a lost object stays as it was; where the accepted files are lost,
 * too, no tool is shown that the object may have hidden.
 */
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
