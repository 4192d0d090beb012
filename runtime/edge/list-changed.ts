import { LIST_CHANGED, type ListKind } from '../mcp/index.ts';

/** The notifications that these lists have changed, each once. */
export const listChangedNotifications = (kinds: readonly ListKind[]): readonly Buffer[] =>
  [...new Set(kinds.map((kind) => LIST_CHANGED[kind]))].map((method) =>
    Buffer.from(`{"jsonrpc":"2.0","method":"${method}"}`),
  );
