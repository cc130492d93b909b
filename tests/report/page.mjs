// Opens reports in a headless browser and looks at what a reader would: that everything is drawn,
// nothing is fetched, nothing overflows, and that it works by keyboard and in the dark.
// Usage: page.mjs REPORT_FOLDER CHROMIUM FILE...
import { createRequire } from 'node:module';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import assert from 'node:assert/strict';

const [folder, executablePath, ...files] = process.argv.slice(2);
const { chromium } = createRequire(resolve(folder) + '/')('playwright-core');
const args = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];

// What a chart's canvas shows, and whether that is more than axes and labels: without its series it
// looks otherwise. What was asked for is drawn before it is looked at, however late the browser
// would draw it.
const ink = (index) => {
  const chart = globalThis.infergridReport.charts[index];
  chart.instance.getZr().flush();
  return chart.box.querySelector('canvas').toDataURL();
};
const isDrawn = (index) => {
  const chart = globalThis.infergridReport.charts[index];
  const canvas = () => chart.box.querySelector('canvas').toDataURL();
  const before = canvas();
  chart.instance.setOption({ series: chart.instance.getOption().series.map(() => ({ data: [], markLine: { data: [] } })) });
  chart.instance.getZr().flush();
  const bare = canvas();
  chart.refresh();
  chart.instance.getZr().flush();
  return bare !== before && canvas() === before;
};

async function open(context, file, faults) {
  const page = await context.newPage();
  page.on('console', (message) => faults.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('request', (request) => {
    if (!request.url().startsWith('file:') && !request.url().startsWith('data:')) faults.push(`request: ${request.url()}`);
  });
  await page.goto(`file://${resolve(file)}`);
  await page.waitForFunction(() => globalThis.infergridReport && globalThis.infergridReport.charts.every((chart) => chart.instance));
  return page;
}

async function checkWidth(page, width) {
  await page.setViewportSize({ width, height: 900 });
  await page.waitForTimeout(300);
  const [full, seen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(full <= seen, `${width}: ${full} pixels wide`);
  const wide = await page.evaluate(() => [...document.querySelectorAll('.card, .tile')]
    .filter((box) => box.scrollWidth > box.clientWidth + 1).map((box) => box.id || box.textContent.slice(0, 40)));
  assert.deepEqual(wide, [], `${width}: boxes that overflow`);
}

// Texts of a chart that stand beyond its edges, where nobody reads them whole.
const cutTexts = (index) => {
  const { instance } = globalThis.infergridReport.charts[index];
  const zr = instance.getZr();
  zr.flush();
  return zr.storage.getDisplayList(true).filter((one) => one.style && one.style.text && !one.ignore && !one.invisible)
    .filter((one) => {
      const box = one.getBoundingRect().clone();
      if (one.transform) box.applyTransform(one.transform);
      return box.x < -1 || box.x + box.width > instance.getWidth() + 1;
    }).map((one) => one.style.text);
};

async function checkTexts(page, charts, width) {
  for (let i = 0; i < charts; i++) assert.deepEqual(await page.evaluate(cutTexts, i), [], `${width}: texts of chart ${i} that are cut off`);
}

async function checkNames(page) {
  const names = await page.evaluate(() => [...document.querySelectorAll('[role=img]')].map((one) => one.getAttribute('aria-label')));
  assert.ok(names.length > 0);
  for (const name of names) assert.match(name, /\w.*\. .*\d/, `a name with figures: ${name}`);
  assert.equal(new Set(names).size, names.length);
  assert.equal(await page.evaluate(() => document.querySelectorAll('button:not([aria-label]):empty').length), 0);
}

async function checkLegends(page) {
  const place = await page.evaluate(() => globalThis.infergridReport.charts.findIndex((chart) => chart.box.closest('.card').querySelector('.legend button')));
  if (place < 0) return;
  const before = await page.evaluate(ink, place);
  const button = page.locator('.legend button').first();
  await button.focus();
  await page.keyboard.press('Enter');
  assert.equal(await button.getAttribute('aria-pressed'), 'false');
  assert.notEqual(await page.evaluate(ink, place), before, 'a series that is switched off is gone');
  await page.keyboard.press('Space');
  assert.equal(await page.evaluate(ink, place), before, 'and is back');
}

async function checkZoom(page) {
  const group = page.locator('[role=group][tabindex="0"]').last();
  if (await group.count() === 0) return;
  const shown = page.locator('.zoom output').last();
  await group.focus();
  await page.keyboard.press('0');
  const all = await shown.textContent();
  await page.keyboard.press('+');
  const half = await shown.textContent();
  assert.notEqual(half, all);
  await page.keyboard.press('ArrowRight');
  assert.notEqual(await shown.textContent(), half);
  await page.keyboard.press('-');
  await page.keyboard.press('0');
  assert.equal(await shown.textContent(), all);
  await page.locator('.zoom button').last().click();
}

async function checkTables(page) {
  const folded = page.locator('details').first();
  if (await folded.count() === 0) return;
  await folded.locator('summary').click();
  await folded.locator('td').first().waitFor();
}

async function checkThemes(page) {
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground(), before = await page.evaluate(ink, 0);
  await page.locator('#theme').focus();
  await page.keyboard.press('Enter');
  assert.notEqual(await ground(), light);
  assert.notEqual(await page.evaluate(ink, 0), before);
  assert.equal(await page.locator('#theme').getAttribute('aria-pressed'), 'true');
}

async function checkFile(context, file) {
  const faults = [];
  const page = await open(context, file, faults);
  const charts = await page.evaluate(() => globalThis.infergridReport.charts.length);
  await checkWidth(page, 1280);
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.className), 'skip');
  for (let i = 0; i < charts; i++) assert.ok(await page.evaluate(isDrawn, i), `chart ${i} of ${file} is drawn`);
  await checkTexts(page, charts, 1280);
  await checkNames(page);
  await checkLegends(page);
  await checkZoom(page);
  await checkTables(page);
  await checkWidth(page, 390);
  await checkTexts(page, charts, 390);
  await checkThemes(page);
  assert.deepEqual(faults, []);
  await page.close();
  console.log(`${file}: ${charts} charts`);
}

const profile = mkdtempSync(join(tmpdir(), 'report-'));
const context = await chromium.launchPersistentContext(profile, { executablePath, headless: true, args, colorScheme: 'light' });
try {
  for (const file of files) await checkFile(context, file);
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
}
