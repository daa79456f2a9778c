import { render } from 'preact';
import { App } from './app.tsx';
import { applyTheme } from './lib/preferences.ts';

applyTheme();

const root = document.getElementById('app');
if (root) {
  root.replaceChildren();
  render(<App />, root);
}
