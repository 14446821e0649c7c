// to-webp.mjs - screenshots as small WebP files, drawn by Chromium itself:
//
//   node to-webp.mjs FROM.png TO.webp [FROM.png TO.webp ...]

import { readFile, writeFile } from 'node:fs/promises';

import { chromium } from 'playwright-core';

/** Text stays crisp, and a page of it is about 60 KB. */
const QUALITY = 0.8;

async function convert(tab, from, to) {
  const png = `data:image/png;base64,${(await readFile(from)).toString('base64')}`;
  const webp = await tab.evaluate(async ([url, quality]) => {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = image.width;
    canvas.height = image.height;
    canvas.getContext('2d').drawImage(image, 0, 0);
    return canvas.toDataURL('image/webp', quality).split(',')[1];
  }, [png, QUALITY]);
  const bytes = Buffer.from(webp, 'base64');
  await writeFile(to, bytes);
  console.log(`${to}: ${(bytes.length / 1024).toFixed(0)} KB`);
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell', args: ['--no-sandbox'],
});
const tab = await browser.newPage();
const names = process.argv.slice(2);
for (let i = 0; i + 1 < names.length; i += 2) {
  await convert(tab, names[i], names[i + 1]);
}
await browser.close();
