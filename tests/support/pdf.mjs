// pdf.mjs - the least PDF that shows lines of text, one list of them per page.

const escaped = (line) => line.replace(/[\\()]/g, '\\$&');

/** @param {string[][]} pages */
export function pdf(pages) {
  const objects = [];
  const add = (text) => objects.push(text); // its number
  const font = 3 + pages.length * 2;
  const kids = pages.map((_, i) => `${3 + i * 2} 0 R`).join(' ');
  add('<< /Type /Catalog /Pages 2 0 R >>');
  add(`<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`);
  pages.forEach((lines, i) => {
    const shown = lines.map((l) => `(${escaped(l)}) Tj T*`).join('\n');
    const stream = `BT /F1 12 Tf 14 TL 72 720 Td\n${shown}\nET`;
    add(`<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${4 + i * 2} 0 R` +
      ` /Resources << /Font << /F1 ${font} 0 R >> >> >>`);
    add(`<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`);
  });
  add('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>');
  let out = '%PDF-1.4\n';
  const places = objects.map((text, i) => {
    const at = out.length;
    out += `${i + 1} 0 obj\n${text}\nendobj\n`;
    return at;
  });
  const table = out.length;
  out += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n`;
  out += places.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('');
  out += `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${table}\n%%EOF\n`;
  return Buffer.from(out, 'latin1');
}
