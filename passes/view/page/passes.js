// passes.js: a column for each pass, with what it changed.

// options of the columns, kept while the page is open.
const columns = {part: 'func', changes: true, causes: true, rule: '', open: new Set(), shown: []};

function passesView() {
  if (!columns.open.size) doc.passes.forEach((p, k) => { if (p.changed && !(doc.diff && k === 0)) columns.open.add(k); });
  const row = h('div', {class: 'columns' + (columns.causes ? '' : ' nocauses')});
  columns.shown = doc.passes.map((p, k) => columns.open.has(k) ? openColumn(p, k) : foldedColumn(p, k));
  row.append(...columns.shown.map(c => c.element));
  return h('div', {class: 'passes'}, passesBar(row), row);
}

// choosePart shows the text of an entry point, or what the other parts are.
function choosePart(value) {
  const i = +value;
  columns.part = i < 0 ? ['head', 'whole'][-1 - i] : 'func';
  if (i < 0 || funcs[i] === state.func) show(); else choose(state.id, '', funcs[i]);
}

function passesBar(row) {
  const select = h('select', {'aria-label': 'Part of the text', 'data-key': 'part', onchange: e => choosePart(e.target.value)},
    [[-2, 'whole text', 'whole'], [-1, 'head and plan', 'head'], ...funcs.map((f, i) => [i, '@' + f, f === state.func ? 'func' : ''])].map(([v, label, part]) => h('option', {value: String(v), selected: part === columns.part}, label)));
  const box = (name, label) => h('label', null, h('input', {type: 'checkbox', checked: columns[name], onchange: e => { columns[name] = e.target.checked; show(); }}), label);
  return h('div', {class: 'tools'}, select, box('changes', 'only what changed'), box('causes', 'causes'),
    columns.rule ? h('button', {type: 'button', onclick: () => { columns.rule = ''; show(); }}, 'rule ' + columns.rule + ' ×') : null,
    h('span', {class: 'dim'}, `${doc.passes.filter(p => p.changed).length} of ${doc.passes.length} texts differ from the one before; the others are folded`),
    h('span', {class: 'legend'}, h('span', {class: 'row add'}, 'added'), h('span', {class: 'row del'}, 'removed'), h('span', {class: 'row mod'}, 'changed'), h('span', {class: 'row mov'}, 'moved')));
}

function foldedColumn(p, k) {
  const e = h('button', {type: 'button', class: 'folded', title: p.changed ? p.pass : `${p.pass}: changed nothing, ${p.ms.toFixed(2)} ms`, onclick: () => { columns.open.add(k); show(); }}, h('span', null, `${p.number} ${p.pass}`));
  return {element: e, reveal() {}};
}

function openColumn(p, k) {
  const rows = k === 0 ? textOf(0).map(l => ({line: l, kind: ''})) : rowsOf(k);
  const body = h('div', {class: 'lines', tabindex: '0', 'aria-label': 'Text after ' + p.pass});
  const col = lazyRows(body, foldRows(rows.filter(r => shownIn(r.line)), p));
  const figures = p.after;
  col.element = h('section', {class: 'column', id: 'pass-' + p.number},
    h('h2', {title: p.doc || ''}, h('span', {class: 'dim'}, p.number), ' ', p.pass, h('span', {class: 'figure'}, p.ms ? p.ms.toFixed(2) + ' ms' : ''),
      k ? h('button', {type: 'button', class: 'close', title: 'fold', onclick: () => { columns.open.delete(k); show(); }}, '–') : null),
    h('p', {class: 'dim'}, ['whole module: ' + plural(figures.nodes, 'node', 'nodes') + ' with weights and views', figures.splits ? plural(figures.splits, 'split', 'splits') : '', figures.copies ? plural(figures.copies, 'copy', 'copies') + ' of ' + bytesText(figures.bytes_copied) : '', figures.arena_bytes ? 'arenas ' + bytesText(figures.arena_bytes) : '', k ? 'here ' + (changesText(rows.filter(r => shownIn(r.line))) || 'no change') : ''].filter(Boolean).join(', ')),
    rulesOf(p), body);
  let wanted = '', seen = false;
  const reveal = col.reveal;
  col.reveal = id => { if (seen) reveal(id); else wanted = id; };
  new IntersectionObserver(list => { seen = list[list.length - 1].isIntersecting; if (seen && wanted) { reveal(wanted); wanted = ''; } }).observe(col.element);
  return col;
}

function changesText(rows) {
  const count = kind => rows.filter(r => r.kind === kind).length;
  return [['add', '+'], ['del', '−'], ['mod', '~'], ['mov', '↕']].map(([kind, sign]) => [count(kind), sign]).filter(([n]) => n).map(([n, sign]) => sign + n).join(' ');
}

function rulesOf(p) {
  if (!p.rules && !p.counters) return null;
  return h('p', {class: 'rules'}, (p.rules || []).map(r => h('button', {type: 'button', class: columns.rule === r.rule ? 'on' : '', title: (r.text || '') + '\nClick: only lines with this rule', onclick: () => { columns.rule = columns.rule === r.rule ? '' : r.rule; show(); }}, `${r.rule} ${r.count}`)),
    (p.counters || []).map(c => h('span', {class: 'dim'}, `${c.name} ${countText(c.value)}`)));
}

function shownIn(line) {
  return columns.part === 'whole' || line.entry === (columns.part === 'head' ? '' : state.func);
}

// rowsOf returns the lines of a text with those of the text before that were removed.
function rowsOf(k) {
  const before = textOf(k - 1), lines = textOf(k);
  const used = new Set(lines.filter(l => l.old >= 0).map(l => l.old));
  const rows = [];
  let next = 0;
  const removed = until => { for (; next < until; next++) if (!used.has(next)) rows.push({line: before[next], kind: 'del'}); };
  for (const l of lines) {
    if (l.old >= next) removed(l.old);
    rows.push({line: l, kind: kindOf(l)});
  }
  removed(before.length);
  return rows;
}

// kindOf tells what happened to a line. The head's lines that change after every pass are no change.
function kindOf(l) {
  if (l.old < 0) return 'add';
  if (l.from !== undefined) return !l.entry && /^(?:after|props) /.test(l.text) ? '' : 'mod';
  return l.moved ? 'mov' : '';
}

// around is how many unchanged lines are shown around a changed one.
const around = 1;

// foldRows replaces runs of rows without a change by one row, where only changes are wanted.
function foldRows(rows, p) {
  const word = columns.rule && (p.rules || []).some(r => r.rule === columns.rule) ? '/' + columns.rule : '';
  const wanted = rows.map(r => word ? r.line.text.includes(word) : r.kind !== '' || /^\s*(?:func|body) @/.test(r.line.text));
  if (!word && (!columns.changes || p.number === 0)) return rows;
  const near = wanted.map((_, i) => { for (let j = Math.max(0, i - around); j <= i + around; j++) if (wanted[j]) return true; return false; });
  const out = [];
  for (let i = 0; i < rows.length;) {
    if (near[i]) { out.push(rows[i++]); continue; }
    const start = i;
    while (i < rows.length && !near[i]) i++;
    if (i - start < 3) out.push(...rows.slice(start, i)); else out.push({fold: rows.slice(start, i)});
  }
  return out;
}

// chunk is how many rows are made at once.
const chunk = 200;

// lazyRows fills a column while it is scrolled.
function lazyRows(body, rows) {
  let done = 0;
  const rest = h('div', {class: 'rest'});
  body.append(rest);
  const grow = until => {
    const list = [];
    for (; done < Math.min(until, rows.length); done++) list.push(rows[done].fold ? foldRow(rows[done].fold) : rowOf(rows[done]));
    rest.before(...list);
    if (done >= rows.length) { watch.disconnect(); rest.remove(); }
  };
  const watch = new IntersectionObserver(seen => { if (seen.some(s => s.isIntersecting)) { grow(done + chunk); markChosen(body); } }, {root: null, rootMargin: '600px'});
  watch.observe(rest);
  const reveal = id => {
    const i = rows.findIndex(r => r.fold ? r.fold.some(f => f.line.def === id) : r.line.def === id);
    if (i < 0) return;
    grow(i + 40);
    markChosen(body);
    if (rows[i].fold) body.children[i].click();
    const row = [...body.querySelectorAll('.row')].find(e => e.dataset.def === id);
    if (row) body.scrollTop += row.getBoundingClientRect().top - body.getBoundingClientRect().top - body.clientHeight / 3;
  };
  return {reveal};
}

function rowOf(r) {
  const l = r.line;
  const marks = r.kind === 'mod' ? changedIn(l.was, l.text, l.from, l.to) : [];
  return h('div', {class: 'row ' + r.kind, 'data-def': l.def || null, title: r.kind === 'mod' ? 'was: ' + l.was.trim() : null}, lineOf(l.text, l.func, marks));
}

function foldRow(rows) {
  const e = h('button', {type: 'button', class: 'fold', onclick: () => { const list = rows.map(rowOf); e.replaceWith(...list); markChosen(list[0].parentNode); }}, `⋯ ${rows.length} unchanged lines`);
  return e;
}

// revealInPasses scrolls all columns to the line that defines a value.
function revealInPasses(id) {
  if (columns.part === 'head' && entryOf(id)) { columns.part = 'func'; show(); return; }
  for (const c of columns.shown) c.reveal(id);
}
