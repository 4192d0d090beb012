import { describeCell } from './cells.ts';

const LISTEN = 'waits for subscriptions/listen with backends';

await describeCell({
  client: '2025-11-25',
  backend: 'modern',
  except: {
    'resources-subscribe': LISTEN,
    'resources-unsubscribe': LISTEN,
  },
});
