/** A line or an area of a panel: one value for each equal piece of the x axis. */
export interface Curve {
  readonly label: string;
  readonly color: string;
  readonly values: ArrayLike<number>;
  /** `stacked`: an area on top of the stacked ones before it. */
  readonly kind: 'line' | 'dashed' | 'area' | 'stacked';
}

export interface Panel {
  readonly title: string;
  readonly yLabel: string;
  readonly curves: readonly Curve[];
  /** Default: from the curves. */
  readonly yMax?: number;
}

const WIDTH = 1080;
const PANEL_HEIGHT = 250;
const TOP = 74;
const PLOT = { left: 84, width: 740, above: 34, height: 168 };
const LEGEND_LINE = 16;
const LEGEND_LINES = 11;

/** Colours that people with the usual kinds of colour blindness tell apart (Okabe and Ito), then darker and lighter ones of them. */
export const COLORS = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#b8a900', '#7f7f7f', '#004c77', '#8c6100', '#00664a'];

/** Panels above each other with one axis of time. */
export function chartSvg(title: string, subtitle: string, durationMs: number, panels: readonly Panel[]): string {
  const height = TOP + panels.length * PANEL_HEIGHT + 26;
  const body = panels.map((panel, i) => panelSvg(panel, TOP + i * PANEL_HEIGHT, durationMs)).join('\n');
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="12" fill="#222">
<rect width="${WIDTH}" height="${height}" fill="#fff"/>
<text x="${PLOT.left}" y="30" font-size="18" font-weight="600">${escaped(title)}</text>
<text x="${PLOT.left}" y="50" fill="#555">${escaped(subtitle)}</text>
${body}
</svg>
`;
}

function panelSvg({ title, yLabel, curves, yMax }: Panel, top: number, durationMs: number): string {
  const stacks = stacked(curves);
  const highest = yMax ?? Math.max(1e-9, ...stacks.map(({ upper }) => largest(upper)));
  const ticks = niceTicks(highest);
  const yTop = Math.max(highest, ticks.at(-1)!);
  const y = (value: number): number => PLOT.above + PLOT.height * (1 - Math.min(1, Math.max(0, value / yTop)));
  const drawn = stacks.map((stack) => curveSvg(stack, y)).join('\n');
  return `<g transform="translate(0 ${top})">
<text x="${PLOT.left}" y="22" font-size="14" font-weight="600">${escaped(title)}</text>
${ticks.map((tick) => yTickSvg(tick, y(tick))).join('\n')}
${timeTicks(durationMs).map(({ x, label }) => xTickSvg(x, label)).join('\n')}
${drawn}
<text transform="translate(20 ${PLOT.above + PLOT.height / 2}) rotate(-90)" text-anchor="middle" fill="#555">${escaped(yLabel)}</text>
<text x="${PLOT.left + PLOT.width / 2}" y="${PLOT.above + PLOT.height + 34}" text-anchor="middle" fill="#555">time</text>
${legendSvg(curves)}
</g>`;
}

interface Stacked {
  readonly curve: Curve;
  readonly lower: Float64Array;
  readonly upper: Float64Array;
}

function stacked(curves: readonly Curve[]): Stacked[] {
  let below = new Float64Array(0);
  return curves.map((curve) => {
    const lower = new Float64Array(curve.values.length);
    if (curve.kind === 'stacked') lower.set(below);
    const upper = Float64Array.from(lower, (value, i) => value + curve.values[i]!);
    if (curve.kind === 'stacked') below = upper;
    return { curve, lower, upper };
  });
}

function curveSvg({ curve, lower, upper }: Stacked, y: (value: number) => number): string {
  const x = (i: number): number => PLOT.left + ((i + 0.5) / upper.length) * PLOT.width;
  const points = (values: Float64Array): string[] => Array.from(values, (value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`);
  const line = points(upper);
  if (curve.kind === 'line' || curve.kind === 'dashed') {
    const dash = curve.kind === 'dashed' ? ' stroke-dasharray="6 4"' : '';
    return `<polyline points="${line.join(' ')}" fill="none" stroke="${curve.color}" stroke-width="1.8"${dash}/>`;
  }
  return `<polygon points="${[...line, ...points(lower).reverse()].join(' ')}" fill="${curve.color}" fill-opacity="${curve.kind === 'area' ? 0.25 : 0.8}"/>`;
}

function yTickSvg(tick: number, at: number): string {
  const right = PLOT.left + PLOT.width;
  return `<line x1="${PLOT.left}" x2="${right}" y1="${at.toFixed(1)}" y2="${at.toFixed(1)}" stroke="#ddd"/><text x="${PLOT.left - 6}" y="${(at + 4).toFixed(1)}" text-anchor="end">${short(tick)}</text>`;
}

function xTickSvg(share: number, label: string): string {
  const x = (PLOT.left + share * PLOT.width).toFixed(1);
  const bottom = PLOT.above + PLOT.height;
  return `<line x1="${x}" x2="${x}" y1="${bottom}" y2="${bottom + 4}" stroke="#888"/><text x="${x}" y="${bottom + 17}" text-anchor="middle">${label}</text>`;
}

function legendSvg(curves: readonly Curve[]): string {
  const x = PLOT.left + PLOT.width + 20;
  const lines = curves.slice(0, LEGEND_LINES).map(({ label, color, kind }, i) => {
    const y = PLOT.above + 8 + i * LEGEND_LINE;
    const mark = kind === 'area' || kind === 'stacked' ? `<rect x="${x}" y="${y - 9}" width="16" height="10" fill="${color}" fill-opacity="${kind === 'area' ? 0.25 : 0.8}"/>` : `<line x1="${x}" x2="${x + 16}" y1="${y - 4}" y2="${y - 4}" stroke="${color}" stroke-width="2"${kind === 'dashed' ? ' stroke-dasharray="6 4"' : ''}/>`;
    return `${mark}<text x="${x + 22}" y="${y}">${escaped(label.length > 28 ? `${label.slice(0, 27)}…` : label)}</text>`;
  });
  return lines.join('\n');
}

/** About four round steps from 0 to at least this. */
export function niceTicks(highest: number): number[] {
  const raw = highest / 4;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= raw * 0.999)!;
  return Array.from({ length: Math.ceil(highest / step - 1e-9) + 1 }, (_, i) => i * step);
}

function timeTicks(durationMs: number): { x: number; label: string }[] {
  const [unitMs, unit] = durationMs < 180_000 ? [1000, 's'] : durationMs < 3 * 3_600_000 ? [60_000, 'min'] : [3_600_000, 'h'];
  return niceTicks(durationMs / unitMs)
    .map((tick) => ({ x: (tick * unitMs) / durationMs, label: `${short(tick)} ${unit}` }))
    .filter(({ x }) => x <= 1.0001);
}

function largest(values: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < values.length; i++) if (values[i]! > most) most = values[i]!;
  return most;
}

function short(value: number): string {
  if (value >= 1e6) return `${trimmed(value / 1e6)}M`;
  if (value >= 1e4) return `${trimmed(value / 1e3)}k`;
  return trimmed(value);
}

function trimmed(value: number): string {
  return String(Number(value.toPrecision(4)));
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (mark) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[mark]!);
}
