import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FirefoxPage } from '../support/firefox.ts';
import { sharedPinot } from '../support/pinot.ts';
import { startStandalone, type Standalone } from '../support/service.ts';

const CONTROL = '\uE009';
const ENTER = '\uE007';
const ESCAPE = '\uE00C';
const RIGHT = '\uE014';
const DOWN = '\uE015';

let page: FirefoxPage;
let gateway: Standalone;

/** An element by its role in the page: the first of a selector with this text. */
const withText = (selector: string, text: string): string =>
  `[...document.querySelectorAll(${JSON.stringify(selector)})].find((one) => one.textContent.trim().startsWith(${JSON.stringify(text)}))`;
const labelled = (text: string): string =>
  `document.getElementById([...document.querySelectorAll('label')].find((one) => one.textContent.trim() === ${JSON.stringify(text)})?.htmlFor ?? '')`;
// The editor is in a shadow root.
const editor = "document.querySelector('.editor > div')?.shadowRoot?.querySelector('.cm-content')";

describe('in Firefox', () => {
  beforeAll(async () => {
    const { controllerUrl } = await sharedPinot();
    gateway = await startStandalone({ controllers: controllerUrl });
    page = await FirefoxPage.start();
  });
  afterAll(async () => {
    await page?.close();
    await gateway?.stop();
  });

  it('signs in and shows the health of the cluster', async () => {
    await page.goto(`${gateway.url}/ui/`);
    await page.click(labelled('Token'));
    await page.type(gateway.token + ENTER);
    await page.until("document.querySelectorAll('li.check').length > 20");
    expect(await page.evaluate("document.querySelector('h1').textContent")).toMatch(/checks? (fail|pass)/);
    await page.click("document.querySelector('.check-head')");
    await page.until("document.querySelector('.check-body')?.textContent.includes('What to do')");
    expect(await page.evaluate('document.cookie')).toBe('');
  });

  it('loses no character that is typed into a policy, and shows the difference', async () => {
    const policyDocument = {
      version: 'v1',
      statements: [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#orders'] }],
    };
    await gateway.call('POST', '/api/v1/rbac-manager/policies', { name: 'typed', policyDocument });
    await page.goto(`${gateway.url}/ui/access?tab=policies&name=typed`);
    await page.click(editor);
    await page.chord(CONTROL, 'a');
    const text = JSON.stringify({ version: 'v1', statements: [], note: 'every key of a fast typist, 0123456789' });
    await page.type(text);
    await page.until(`${editor}.textContent === ${JSON.stringify(text)}`);
    await page.until("document.querySelector('.diff-removed')");
    await page.click(withText('button', 'Discard changes'));
  });

  it('grants access to a table in one form', async () => {
    await page.goto(`${gateway.url}/ui/access?tab=grant`);
    await page.click(labelled('Subject'));
    await page.type('ada@example.com');
    await page.click(labelled('Tables'));
    await page.type(`orders${ENTER}`);
    await page.click(withText('button', 'Friday'));
    await page.click("[...document.querySelectorAll('button.primary')].find((one) => one.textContent === 'Grant')");
    await page.until("document.querySelector('main').textContent.includes('ada@example.com may read orders')");
  });

  it('runs a query, goes through its rows by key, and finds it again in my results', async () => {
    await page.goto(`${gateway.url}/ui/queries`);
    await page.click(editor);
    await page.type('SELECT orderId, city FROM orders ORDER BY orderedAt LIMIT 2500');
    await page.chord(CONTROL, ENTER);
    await page.until("document.querySelector('.pager')?.textContent.includes('rows 1–100 of 2,500')");
    await page.click("document.querySelector('[role=gridcell]')");
    await page.type(DOWN + RIGHT + ENTER);
    await page.until("document.querySelector('dialog[open] h2')?.textContent === 'city of row 2'");
    await page.type(ESCAPE);
    await page.until("!document.querySelector('dialog')");
    expect(await page.evaluate("document.activeElement.getAttribute('role')")).toBe('grid');
    await page.click(withText('.pager button', 'Last'));
    await page.until("document.querySelector('.pager').textContent.includes('rows 2,401–2,500 of 2,500')");
    await page.until("document.querySelector('code.sql')?.textContent.includes('LIMIT 2500')");
  });

  it('downloads the whole result', async () => {
    // Without a dialog of the browser: the file is read instead of saved.
    await page.evaluate(
      'globalThis.saved = []; URL.createObjectURL = (blob) => { blob.text().then((text) => saved.push(text)); return "#"; }; null',
    );
    await page.click(withText('[aria-label=Download] button', 'JSON lines'));
    await page.until('globalThis.saved.length === 1');
    expect(await page.evaluate('globalThis.saved[0].trim().split("\\n").length')).toBe(2500);
  });
});
