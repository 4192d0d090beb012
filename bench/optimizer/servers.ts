/** An MCP server of npm whose tools are in `tools.json`. */
export interface ListedServer {
  /** How an owner would name the backend. */
  readonly name: string;
  readonly package: string;
  readonly version: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * All of them start without an account, some with a setting that leads nowhere. Their licenses are MIT, Apache-2.0 or
 * ISC; packages of `modelcontextprotocol/servers` that refer to a file LICENSE mean that of the repository, which is
 * MIT, and Apache-2.0 for newer parts.
 */
export const SERVERS: readonly ListedServer[] = [
  { name: 'airtable', package: 'airtable-mcp-server', version: '1.14.0', env: { AIRTABLE_API_KEY: 'none' } },
  { name: 'amap', package: '@amap/amap-maps-mcp-server', version: '0.0.8', env: { AMAP_MAPS_API_KEY: 'none' } },
  { name: 'charts', package: '@antv/mcp-server-chart', version: '0.9.10' },
  { name: 'chrome-devtools', package: 'chrome-devtools-mcp', version: '1.11.0' },
  { name: 'circleci', package: '@circleci/mcp-server-circleci', version: '0.20.0', env: { CIRCLECI_TOKEN: 'none' } },
  { name: 'context7', package: '@upstash/context7-mcp', version: '4.1.1' },
  {
    name: 'coolify',
    package: '@masonator/coolify-mcp',
    version: '3.5.0',
    env: { COOLIFY_ACCESS_TOKEN: 'none', COOLIFY_BASE_URL: 'http://127.0.0.1' },
  },
  { name: 'desktop-commander', package: '@wonderwhy-er/desktop-commander', version: '0.2.52' },
  {
    name: 'everart',
    package: '@modelcontextprotocol/server-everart',
    version: '0.6.2',
    env: { EVERART_API_KEY: 'none' },
  },
  { name: 'filesystem', package: '@modelcontextprotocol/server-filesystem', version: '2026.8.31', args: ['.'] },
  { name: 'git', package: '@cyanheads/git-mcp-server', version: '2.15.3' },
  {
    name: 'github',
    package: '@modelcontextprotocol/server-github',
    version: '2025.4.8',
    env: { GITHUB_PERSONAL_ACCESS_TOKEN: 'none' },
  },
  {
    name: 'gitlab',
    package: '@zereight/mcp-gitlab',
    version: '2.1.64',
    env: { GITLAB_PERSONAL_ACCESS_TOKEN: 'none', USE_PIPELINE: 'true', USE_GITLAB_WIKI: 'true', USE_MILESTONE: 'true' },
  },
  {
    name: 'google-calendar',
    package: '@cocal/google-calendar-mcp',
    version: '2.6.3',
    env: { GOOGLE_OAUTH_CREDENTIALS: 'credentials.json' },
  },
  {
    name: 'google-maps',
    package: '@modelcontextprotocol/server-google-maps',
    version: '0.6.2',
    env: { GOOGLE_MAPS_API_KEY: 'none' },
  },
  {
    name: 'grafana',
    package: '@leval/mcp-grafana',
    version: '1.1.7',
    env: { GRAFANA_URL: 'http://127.0.0.1:3000', GRAFANA_SERVICE_ACCOUNT_TOKEN: 'none', GRAFANA_TOKEN: 'none' },
  },
  { name: 'howtocook', package: 'howtocook-mcp', version: '0.2.2' },
  { name: 'jira', package: '@aashari/mcp-server-atlassian-jira', version: '3.3.0' },
  { name: 'kubernetes', package: 'mcp-server-kubernetes', version: '4.1.7' },
  { name: 'linear', package: '@tacticlaunch/mcp-linear', version: '1.4.3', env: { LINEAR_API_TOKEN: 'none' } },
  { name: 'memory', package: '@modelcontextprotocol/server-memory', version: '2026.8.31' },
  { name: 'mobile', package: '@mobilenext/mobile-mcp', version: '1.0.4' },
  { name: 'notion', package: '@notionhq/notion-mcp-server', version: '2.5.2', env: { NOTION_TOKEN: 'none' } },
  { name: 'pdf', package: '@modelcontextprotocol/server-pdf', version: '2.0.4', args: ['--stdio'] },
  { name: 'playwright', package: '@playwright/mcp', version: '0.0.83' },
  {
    name: 'postgres',
    package: '@modelcontextprotocol/server-postgres',
    version: '0.6.2',
    args: ['postgresql://127.0.0.1/none'],
  },
  {
    name: 'prometheus',
    package: 'prometheus-mcp',
    version: '1.1.3',
    args: ['stdio'],
    env: { PROMETHEUS_URL: 'http://127.0.0.1:9090' },
  },
  { name: 'shortcut', package: '@shortcut/mcp', version: '0.25.0', env: { SHORTCUT_API_TOKEN: 'none' } },
  {
    name: 'slack',
    package: '@modelcontextprotocol/server-slack',
    version: '2025.4.25',
    env: { SLACK_BOT_TOKEN: 'xoxb-none', SLACK_TEAM_ID: 'T0' },
  },
  { name: 'thinking', package: '@modelcontextprotocol/server-sequential-thinking', version: '2026.8.31' },
  { name: 'time', package: 'time-mcp', version: '1.0.6' },
  { name: 'todoist', package: 'todoist-mcp', version: '1.3.4', env: { API_KEY: 'none' } },
  {
    name: 'trello',
    package: '@delorenj/mcp-server-trello',
    version: '1.8.1',
    env: { TRELLO_API_KEY: 'none', TRELLO_TOKEN: 'none' },
  },
  {
    name: 'variflight',
    package: '@variflight-ai/variflight-mcp',
    version: '1.0.3',
    env: { VARIFLIGHT_API_KEY: 'none' },
  },
  { name: 'weather', package: '@dangahagan/weather-mcp', version: '1.23.0' },
  { name: 'youtube', package: 'youtube-data-mcp-server', version: '1.0.16', env: { YOUTUBE_API_KEY: 'none' } },
];
