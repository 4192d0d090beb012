/** Programs that images of tests run in place of real servers, each one expression for `node -e`. */

/**
 * Speaks the protocol of text-embeddings-inference; like it, it answers only after the model has been written to
 * `HF_HOME`. Texts about the same of a few things have the same vector, whatever their words; all others share one.
 */
export const EMBEDDING_SERVER = `
const { parseArgs } = require('node:util');
const { createServer } = require('node:http');
const { existsSync, writeFileSync } = require('node:fs');
const options = { 'model-id': { type: 'string' }, port: { type: 'string' } };
const { values } = parseArgs({ args: process.argv.slice(1), options, allowPositionals: true });
const model = process.env.HF_HOME + '/model';
const isCached = existsSync(model);
const meanings = [/\\b(echo|parrot)/i, /\\b(sum|total)\\b/i, /\\b(gzip|squeeze)/i];
const vectorOf = (text) => {
  const meant = meanings.map((words) => Number(words.test(text)));
  return [...meant, Number(!meant.includes(1))];
};
let isLoaded = isCached;
setTimeout(() => { writeFileSync(model, values['model-id']); isLoaded = true; }, 5_000);
createServer(async (request, response) => {
  if (!isLoaded) return response.writeHead(503).end();
  if (request.url === '/health') return response.end();
  if (request.url === '/info') return response.end(JSON.stringify({ model_id: values['model-id'], isCached }));
  const { inputs } = JSON.parse(Buffer.concat(await Array.fromAsync(request)));
  response.end(JSON.stringify([inputs].flat().map(vectorOf)));
}).listen(values.port, '0.0.0.0');
process.on('SIGTERM', () => process.exit());
`;

/** Takes more and more memory. */
export const GREEDY = `
const held = [];
setInterval(() => held.push(Buffer.alloc(16 * 2 ** 20, 1)), 20);
`;
