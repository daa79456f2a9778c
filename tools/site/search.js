// The search of the pages that `make docs` writes, in the browser: it finds chapters that contain all words. CHAPTERS is of chapters.js.
/* global CHAPTERS, document */
const form = document.querySelector('form[role=search]');
const input = form.querySelector('input');
const found = document.querySelector('#found');
const MAX_SHOWN = 20;

function score(chapter, words) {
  const title = chapter.title.toLowerCase();
  const text = chapter.text.toLowerCase();
  if (!words.every((word) => text.includes(word))) return 0;
  return 1 + words.filter((word) => title.includes(word)).length;
}

function show() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const best = CHAPTERS.map((chapter) => ({ chapter, points: words.length === 0 ? 0 : score(chapter, words) }))
    .filter(({ points }) => points > 0)
    .toSorted((a, b) => b.points - a.points)
    .slice(0, MAX_SHOWN);
  found.replaceChildren(
    ...best.map(({ chapter }) => {
      const item = document.createElement('li');
      const link = document.createElement('a');
      link.href = `${form.dataset.up}/${chapter.href}`;
      link.textContent = `${chapter.title} (${chapter.href.split('#')[0]})`;
      item.append(link);
      return item;
    }),
  );
  found.hidden = words.length === 0;
}

input.addEventListener('input', show);
form.addEventListener('submit', (event) => event.preventDefault());
