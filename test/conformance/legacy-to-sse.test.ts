import { describeCell } from './cells.ts';

await describeCell({ client: '2025-11-25', backend: 'legacy', transport: 'sse', except: {} });
