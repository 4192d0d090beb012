import { describeCell } from './cells.ts';

await describeCell({ client: '2025-11-25', backend: 'both', except: {} });
