import * as z from 'zod';
import { keyedList } from './keyed-list.ts';
import { rule, withRules } from './rules.ts';
import { filePathSchema } from './file-paths.ts';
import { firstIndexes } from './first-indexes.ts';
import { HEADER_VALUE, headerNameSchema, reservedHeaderProblem } from './header-fields.ts';
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

const forwardedNameSchema = headerNameSchema.refine((name) => reservedHeaderProblem(name) === undefined, {
  error: 'belongs to the connection or to MCP; use another header',
});

const forwardedValueSchema = z
  .string()
  .regex(HEADER_VALUE, { error: 'has characters that no header has; write it in printable characters, on one line' });

const eachHeaderOnce = rule<HeaderForward>({
  // Only the file has it.
  cel: 'true',
  holds: ({ plaintext = {}, secretFiles = {} }) => {
    const names = [...Object.keys(plaintext), ...Object.keys(secretFiles)].map((name) => name.toLowerCase());
    return firstIndexes(names).every((first, index) => first === index);
  },
  reason: 'a header is set twice; the case of letters makes no difference',
  remedy: 'keep one of them',
});

/**
 * Headers that every request to the backend carries. File only: `headerForward` of docs/resources.md "MCPServerEntry",
 * with secrets as files.
 */
const headerForwardSchema = withRules(
  z.strictObject({
    plaintext: z.record(forwardedNameSchema, forwardedValueSchema).optional().describe('Header values by name.'),
    secretFiles: z
      .record(forwardedNameSchema, filePathSchema)
      .optional()
      .describe('Files that hold header values, by header name; read for every request.'),
  }),
  eachHeaderOnce,
);

interface HeaderForward {
  readonly plaintext?: Readonly<Record<string, string>> | undefined;
  readonly secretFiles?: Readonly<Record<string, string>> | undefined;
}

/** The same in the file. */
const fileBackendSchema = backendOf({
  headerForward: headerForwardSchema.optional().describe('Headers that every request to the backend carries.'),
  relaysCredentials: z
    .boolean()
    .default(false)
    .describe(
      'Whether the backend is a vmcp runtime with incomingAuth.relaysCredentials: it gets the credential in the header Vmcp-Relayed-Authorization, and passes it on.',
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
