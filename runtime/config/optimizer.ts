import * as z from 'zod';
import { durationOr } from './durations.ts';
import { decimal, httpUrlSchema } from './scalars.ts';

/** docs/configuration.md "optimizer"; its presence turns the optimizer on. */
export const optimizerSchema = z
  .strictObject({
    embeddingService: httpUrlSchema
      .optional()
      .describe('Base URL of the embedding service; overridden by spec.embeddingServerRef.'),
    embeddingServiceTimeout: durationOr('30s', { positive: true }).describe('Timeout of embedding calls.'),
    hybridSearchSemanticRatio: decimal(1)
      .default('0.5')
      .describe('Balance of the search: 0.0 all keyword, 1.0 all semantic.'),
    maxToolsToReturn: z.int32().min(1).max(50).default(8).describe('Most results of one search.'),
    semanticDistanceThreshold: decimal(2)
      .default('1.0')
      .describe('Semantic results above it are dropped: 0 identical, 2 unrelated. Keyword results are not affected.'),
  })
  .describe('Replaces the list of tools by find_tool and call_tool.');

/** `extensions.optimizer`: what the specification has no key for. */
export const optimizerExtensionSchema = z
  .strictObject({
    exceptClients: z
      .array(z.string().min(1).max(200))
      .max(100)
      .default([])
      .describe(
        'Clients that are listed all tools, by the name that they give of themselves (clientInfo.name); so is whoever sends the header Vmcp-Optimizer: off.',
      ),
    embeddingModel: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe(
        'Model to ask for at an embedding service with /v1/embeddings; by default the first one that it lists. Services of text-embeddings-inference have one.',
      ),
    queryTimeout: durationOr('200ms', { min: '30ms', max: '10s' }).describe(
      'Longest time that a search waits for the vector of its query; hardly for a service that takes more than three quarters of it.',
    ),
  })
  .prefault({})
  .describe('Settings of the optimizer beyond the common specification.');
