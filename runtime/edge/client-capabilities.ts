import { VmcpError } from '../errors.ts';
import { TASKS_EXTENSION, supportsTasks } from '../mcp/index.ts';

/**
 * Tasks "Error Handling": a client that asks for tasks must have declared the extension. Throws
 * `missing_client_capability`.
 */
export const demandTasks = (capabilities: Buffer): void => {
  if (supportsTasks(capabilities)) return;
  throw new VmcpError('missing_client_capability', 'the client has not declared the extension for tasks', {
    data: { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } },
  });
};
