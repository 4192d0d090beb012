import { describeCell } from './cells.ts';

await describeCell({ client: '2026-07-28', backend: 'both', except: {} });
