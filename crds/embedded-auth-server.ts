import { embeddedAuthServerSchema, secretRefs } from '../runtime/config/index.ts';
import { secretRef } from './kit.ts';

/**
 * `embeddedAuthServer` of docs/resources.md "MCPExternalAuthConfig", one shape for VirtualMCPServer and
 * MCPExternalAuthConfig.
 */
export const embeddedAuthServer = embeddedAuthServerSchema(secretRefs(secretRef()));
