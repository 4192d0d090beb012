import { hasOwnClients, specOf } from '../../crds/index.ts';
import { type Validator, violation } from './validator.ts';

/** Pods of a server of transport stdio: the Role of their bridges names each of them. */
export const MAX_BRIDGED_PODS = 100;

/** Kubernetes labels the pods of a StatefulSet with its name and a hash: a name above 52 characters starts none. */
const MAX_NAME_LENGTH = 52 - 'mcpserver--backend'.length;

/** What bounds a server that runs as a StatefulSet. */
export const stdioServer: Validator = {
  kinds: ['MCPServer'],
  validate: (server) => {
    const { name } = server.metadata;
    const spec = specOf('MCPServer', server);
    const { transport = 'stdio', replicas = 0 } = spec;
    if (transport !== 'stdio') return [];
    return [
      ...(replicas > MAX_BRIDGED_PODS
        ? [
            violation(
              'spec.replicas',
              `a server of transport stdio has at most ${MAX_BRIDGED_PODS} pods`,
              `write ${MAX_BRIDGED_PODS} or less`,
            ),
          ]
        : []),
      ...(hasOwnClients(spec) && name.length > MAX_NAME_LENGTH
        ? [
            violation(
              'metadata.name',
              `a server of transport stdio with clients of its own has a name of at most ${MAX_NAME_LENGTH} characters`,
              'shorten it',
            ),
          ]
        : []),
    ];
  },
};
