import { describe, expect, test } from 'vitest';
import { parseConfig } from '../../../src/config/load.js';
import { configText, makeKeys, TENANT_NAMES } from '../../../src/demo/cast.js';
import { metric } from '../../../src/demo/real.js';

describe('the cast of the demo', () => {
  test('has a configuration that is right and holds no key', () => {
    const keys = makeKeys();
    const text = configText(keys);
    const loaded = parseConfig(text, 'demo.yaml');
    expect(loaded).toMatchObject({ ok: true, warnings: [] });
    for (const name of TENANT_NAMES) {
      expect(keys[name]).toMatch(/^sk-demo-[a-z]+-[0-9a-f]{32}$/);
      expect(text).not.toContain(keys[name]);
    }
  });

  test('gets other keys in every run', () => {
    expect(makeKeys()).not.toEqual(makeKeys());
  });
});

describe("the model server's own count", () => {
  const text = '# HELP llamacpp:prompt_tokens_total x\nllamacpp:prompt_tokens_total 120\nllamacpp:prompt_tokens_seconds 7.5\n';

  test('is read by its exact name', () => {
    expect(metric(text, 'llamacpp:prompt_tokens_total')).toBe(120);
    expect(metric(text, 'llamacpp:prompt_tokens')).toBe(0);
  });
});
