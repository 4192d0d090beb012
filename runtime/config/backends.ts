import * as z from 'zod';
import { keyedList } from './keyed-list.ts';
import { notYet } from './not-yet.ts';
import { rule, withRules } from './rules.ts';
import { filePathSchema } from './file-paths.ts';
import { httpUrlSchema, stringMap, workloadNameSchema } from './scalars.ts';

const backendShape = {
  name: workloadNameSchema.describe('Identifies the backend; the name it has in the group.'),
  url: httpUrlSchema.describe('Base URL of the MCP server.'),
  transport: z
    .enum(['sse', 'streamable-http'])
    .describe('MCP transport of the backend; sse is the deprecated HTTP+SSE of 2024-11-05.'),
  type: z
    .enum(['entry', ''])
    .optional()
    .describe('entry for a remote server named by an MCPServerEntry; empty for containers and proxies.'),
  caBundlePath: filePathSchema
    .optional()
    .describe(
      "File (PEM) with the certificate authorities that may have signed the server's certificate, in place of those of the system; only with type entry. Read for every new connection.",
    ),
  metadata: stringMap()
    .optional()
    .describe(
      'Free metadata; the key group is set by the service to groupRef, and a value given for it is overridden, or left out where there is no groupRef.',
    ),
};

const caBundleOnlyForEntries = rule<{ readonly caBundlePath?: unknown; readonly type?: unknown }>({
  cel: "!has(self.caBundlePath) || (has(self.type) && self.type == 'entry')",
  holds: (backend) => backend.caBundlePath === undefined || backend.type === 'entry',
  reason: 'caBundlePath is allowed only with type entry',
  remedy: 'set type: entry',
  field: 'caBundlePath',
});

const backendOf = <More extends z.core.$ZodLooseShape>(more: More) =>
  withRules(z.strictObject({ ...backendShape, ...more }), caBundleOnlyForEntries);

/** One of docs/configuration.md "backends" */
export const backendSchema = backendOf({});

/**
 * A header that every request to the backend carries. File only: MCPServerEntry.spec.headerForward, with secrets as
 * files.
 */
const headerForwardSchema = z.strictObject({
  plaintext: stringMap().optional().describe('Header values by name.'),
  secretFiles: z
    .record(z.string(), filePathSchema)
    .optional()
    .describe('Files that hold header values, by header name.'),
});

/** The same in the file. */
const fileBackendSchema = backendOf({
  headerForward: notYet(
    headerForwardSchema.optional().describe('Headers that every request to the backend carries.'),
    'forwarding headers',
  ),
});

/** `backends.yaml`: a backend that is not contacted because its configuration is wrong. */
export const withheldSchema = keyedList(
  z.strictObject({
    name: workloadNameSchema.describe('The name it has in the group.'),
    message: z.string().min(1).describe('Why it is withheld, for people; shown by /status.'),
  }),
  'name',
)
  .default([])
  .describe(
    'Backends that are not contacted because their configuration is wrong: they are reported as unavailable, and fail lists under partialFailureMode fail.',
  );

const describeList = 'Backends served as written; used when outgoingAuth.source is inline.';

/** docs/configuration.md "backends" */
export const backendsSchema = keyedList(backendSchema, 'name').optional().describe(describeList);

/** The same in the file. */
export const fileBackendsSchema = keyedList(fileBackendSchema, 'name').default([]).describe(describeList);
