import { describe, expect, it } from 'vitest';
import { HPA, OBEDIENT, runScaling, scalingChart, STEADY, STEP, type Demand } from './scaling.js';

/** A node takes 60 s to start, the demand is seen within 15 s, and what waited then drains. */
const ONE_SCALE_UP_MS = 15_000 + 60_000 + 10_000;
const SHORT: Demand = { ...STEP, stepMs: 120_000, backMs: 420_000, durationMs: 960_000 };

describe('an autoscaler that obeys the signal (issue 6, point 6)', () => {
  const hpa = runScaling(HPA, SHORT, 1);

  it('adds what a demand of three times as much needs in one round: the SLO is held again after one scale-up time', () => {
    expect(hpa.before).toBe(2);
    expect(hpa.sloBackMs).toBeGreaterThan(60_000);
    expect(hpa.sloBackMs).toBeLessThanOrEqual(ONE_SCALE_UP_MS);
    // 42 slots for that demand and a baseline of 6: 3 nodes, 3.75 at 80 %.
    expect(hpa.most).toBeGreaterThanOrEqual(4);
    expect(hpa.most).toBeLessThanOrEqual(6);
  });

  it('goes up once and down once: no oscillation', () => {
    expect(hpa.turns).toBeLessThanOrEqual(1);
    expect(hpa.changes).toBeLessThanOrEqual(6);
    expect(hpa.after).toBeLessThanOrEqual(hpa.before + 1);
  });

  it('neither refuses guaranteed requests meanwhile nor starts nodes for spot, which wants more than any pool has', () => {
    expect(hpa.guaranteedRefused).toBe(0);
    expect(hpa.nodeHours).toBeLessThan((6 * SHORT.durationMs) / 3_600_000);
  });

  it('does so too without any smoothing of its own', () => {
    const obedient = runScaling(OBEDIENT, SHORT, 2);
    expect(obedient.sloBackMs).toBeLessThanOrEqual(ONE_SCALE_UP_MS);
    expect(obedient.turns).toBeLessThanOrEqual(5);
    expect(obedient.most).toBeLessThanOrEqual(7);
    expect(obedient.after).toBe(2);
  });

  it('leaves the pool alone while the demand is steady', () => {
    const { changes, withinSlo } = runScaling(HPA, { ...STEADY, durationMs: 600_000 }, 1);
    expect(changes).toBe(0);
    expect(withinSlo).toBeGreaterThan(0.99);
  });

  it('is drawn with nodes and need over time', () => {
    const svg = scalingChart('× 3 and back', hpa);
    expect(svg).toContain('needed / 80 %');
    expect(svg).not.toContain('NaN');
  });
});
