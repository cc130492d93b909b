// Opens Chrome traces in speedscope, a viewer that complains of slices that neither nest nor follow
// each other, and compares the lanes it found with those of the file.
// Usage: trace.mjs REPORT_FOLDER CHROMIUM FILE...
import { createRequire } from 'node:module';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import assert from 'node:assert/strict';

const [folder, executablePath, ...files] = process.argv.slice(2);
const { chromium } = createRequire(resolve(folder) + '/')('playwright-core');
const viewer = resolve(folder, 'node_modules/speedscope/dist/release/index.html');
const args = ['--no-sandbox', '--disable-gpu', '--enable-unsafe-swiftshader', '--disable-quic',
  '--no-first-run', '--disable-background-networking', '--disable-component-update',
  '--disable-sync', '--allow-file-access-from-files'];

function lanesOf(file) {
  const { traceEvents } = JSON.parse(readFileSync(file, 'utf8'));
  return new Set(traceEvents.filter(({ ph }) => ph === 'X').map(({ pid, tid }) => `${pid}/${tid}`));
}

async function check(context, file) {
  const page = await context.newPage();
  const faults = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    const text = message.text();
    if (message.type() === 'error' || /Tried to end|still open/.test(text)) faults.push(text);
  });
  await page.goto(`file://${viewer}`);
  await page.setInputFiles('input[type=file]', resolve(file));
  await page.waitForFunction(() => /Time Order/.test(document.body.innerText), null, { timeout: 60000 });
  const lanes = lanesOf(file).size;
  const shown = /\(1\/(\d+)\)/.exec(await page.evaluate(() => document.body.innerText));
  assert.equal(shown === null ? 1 : Number(shown[1]), lanes, `${file}: lanes`);
  assert.deepEqual(faults.slice(0, 3), [], `${file}: complaints`);
  await page.close();
}

const profile = mkdtempSync(join(tmpdir(), 'infergrid-chromium-'));
const context = await chromium.launchPersistentContext(profile, { executablePath, headless: true, args });
try {
  for (const file of files) await check(context, file);
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
}
