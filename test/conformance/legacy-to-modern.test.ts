import { describeCell } from './cells.ts';

const MODERN_BACKENDS = 'waits for backends of 2026-07-28';

await describeCell({
  client: '2025-11-25',
  backend: 'modern',
  except: {
    'completion-complete': MODERN_BACKENDS,
    'tools-list': MODERN_BACKENDS,
    'tools-call-simple-text': MODERN_BACKENDS,
    'tools-call-image': MODERN_BACKENDS,
    'tools-call-audio': MODERN_BACKENDS,
    'tools-call-embedded-resource': MODERN_BACKENDS,
    'tools-call-mixed-content': MODERN_BACKENDS,
    'tools-call-with-logging': MODERN_BACKENDS,
    'tools-call-error': MODERN_BACKENDS,
    'tools-call-with-progress': MODERN_BACKENDS,
    'tools-call-sampling': MODERN_BACKENDS,
    'tools-call-elicitation': MODERN_BACKENDS,
    'elicitation-sep1034-defaults': MODERN_BACKENDS,
    'elicitation-sep1330-enums': MODERN_BACKENDS,
    'resources-list': MODERN_BACKENDS,
    'resources-read-text': MODERN_BACKENDS,
    'resources-read-binary': MODERN_BACKENDS,
    'resources-templates-read': MODERN_BACKENDS,
    'resources-subscribe': MODERN_BACKENDS,
    'resources-unsubscribe': MODERN_BACKENDS,
    'prompts-list': MODERN_BACKENDS,
    'prompts-get-simple': MODERN_BACKENDS,
    'prompts-get-with-args': MODERN_BACKENDS,
    'prompts-get-embedded-resource': MODERN_BACKENDS,
    'prompts-get-with-image': MODERN_BACKENDS,
    'json-schema-2020-12': MODERN_BACKENDS,
  },
});
