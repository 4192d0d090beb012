import { specOf } from '../../crds/index.ts';
import { firstIndexes } from '../../runtime/config/index.ts';
import { type Validator, violation } from './validator.ts';

/** Two tools of one workload cannot have one name: docs/aggregation.md "Changing tools: tools[].overrides" */
export const toolConfig: Validator = {
  kinds: ['MCPToolConfig'],
  validate: (config) => {
    const { toolsOverride = {} } = specOf('MCPToolConfig', config);
    const named = Object.entries(toolsOverride).map(([tool, { name = tool }]) => ({ tool, name }));
    const firsts = firstIndexes(named.map(({ name }) => name));
    return named.flatMap(({ tool, name }, index) => {
      const earlier = named[firsts[index] ?? index];
      if (earlier === undefined || earlier.tool === tool) return [];
      const path = `spec.toolsOverride[${JSON.stringify(tool)}].name`;
      return [violation(path, `${name} is what ${earlier.tool} is called too`, 'give every tool a name of its own')];
    });
  },
};
