import type { GraphNode, WorkflowGraph } from './graph.ts';

/**
 * For Mermaid (https://mermaid.js.org/syntax/flowchart.html). Dashed arrows are dependencies that only templates say.
 */
export const mermaidOf = ({ nodes, edges }: WorkflowGraph): string => {
  const shapes = { tool: ['[', ']'], elicitation: ['{{', '}}'], forEach: ['[[', ']]'] } as const;
  return [
    'flowchart TD',
    ...nodes.map(({ id, type, lines }, index) => {
      const [open, close] = shapes[type];
      return `  s${index}${open}"${[id, ...lines].map(mermaidText).join('<br/>')}"${close}`;
    }),
    ...edges.map(({ from, to, isInferred }) => `  s${from} ${isInferred ? '-.->' : '-->'} s${to}`),
    '',
  ].join('\n');
};

/** Entities of Mermaid: `#` and a number. */
const mermaidText = (text: string): string =>
  flat(text).replaceAll(/[^\p{L}\p{N} ._,:/-]/gu, (character) => `#${character.codePointAt(0)};`);

const WIDTH = 200;
const HEIGHT = 76;
const GAP_X = 24;
const GAP_Y = 44;
const MARGIN = 16;
const LINE = 16;

/** Layers from top to bottom, without anything that is loaded or run; dashed lines as in `mermaidOf`. */
export const svgOf = ({ nodes, edges }: WorkflowGraph): string => {
  const layers = [...Map.groupBy(nodes, ({ layer }) => layer).values()];
  const columns = Math.max(1, ...layers.map(({ length }) => length));
  const [width, height] = [extent(columns, WIDTH, GAP_X), extent(layers.length, HEIGHT, GAP_Y)];
  const placeOf = (node: GraphNode): { readonly x: number; readonly y: number } => {
    const row = nodes.filter(({ layer }) => layer === node.layer);
    const indent = (width - extent(row.length, WIDTH, GAP_X)) / 2;
    return { x: MARGIN + indent + row.indexOf(node) * (WIDTH + GAP_X), y: MARGIN + node.layer * (HEIGHT + GAP_Y) };
  };
  const places = nodes.map(placeOf);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="12">`,
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z" fill="#555"/></marker></defs>',
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    ...edges.flatMap(({ from, to, isInferred }) => {
      const [start, end] = [places[from], places[to]];
      return start && end ? [curve(start, end, isInferred)] : [];
    }),
    ...nodes.flatMap((node, index) => box(node, places[index] ?? { x: 0, y: 0 })),
    '</svg>',
    '',
  ].join('\n');
};

interface Point {
  readonly x: number;
  readonly y: number;
}

const extent = (count: number, size: number, gap: number): number =>
  2 * MARGIN + count * size + Math.max(0, count - 1) * gap;

const curve = (start: Point, end: Point, isInferred: boolean): string => {
  const [x1, y1, x2, y2] = [start.x + WIDTH / 2, start.y + HEIGHT, end.x + WIDTH / 2, end.y];
  const bend = GAP_Y / 2;
  const dashes = isInferred ? ' stroke-dasharray="4 4"' : '';
  return `<path d="M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}" fill="none" stroke="#555"${dashes} marker-end="url(#arrow)"/>`;
};

const FILLS = { tool: '#e8f0fe', elicitation: '#fef7e0', forEach: '#e6f4ea' } as const;

const box = ({ id, type, lines }: GraphNode, { x, y }: Point): readonly string[] => [
  `<rect x="${x}" y="${y}" width="${WIDTH}" height="${HEIGHT}" rx="6" fill="${FILLS[type]}" stroke="#555"/>`,
  ...[id, ...lines].map((line, index) => {
    const weight = index === 0 ? ' font-weight="bold"' : '';
    return `<text x="${x + WIDTH / 2}" y="${y + LINE + index * LINE}" text-anchor="middle"${weight}>${xmlText(line)}</text>`;
  }),
];

/** Characters of a line that fit a box. */
const FITTING = 30;

const xmlText = (text: string): string =>
  shortened(flat(text)).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const shortened = (text: string): string => {
  const characters = Array.from(text);
  return characters.length <= FITTING ? text : `${characters.slice(0, FITTING - 1).join('')}…`;
};

/** Without line breaks and other controls. */
const flat = (text: string): string => text.toWellFormed().replaceAll(/[\p{Cc}\ufffe\uffff]+/gu, ' ');
