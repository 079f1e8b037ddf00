// why.js: everything that is known about the chosen value.

function showWhy() {
  const box = document.getElementById('why');
  box.replaceChildren(...whyOf(state.id));
  box.scrollTop = 0;
  document.body.classList.toggle('nowhy', !state.id);
}

// focusWhy gives the focus to the explanation, whose links come next then.
function focusWhy() {
  focusNext = false;
  const head = document.querySelector('#why h2');
  if (head) head.focus(); else document.getElementById('view').focus();
}

// sameNames returns links to what has the same name in other entry points.
function sameNames(n) {
  if (!n.func) return null;
  const [entry] = splitFunc(n.func), rest = n.id.slice(entry.length + 1), name = n.id.slice(n.func.length + 1);
  const list = funcs.filter(f => f !== entry).map(f => [f + '.' + rest, resolve(name, f)].find(id => byID.has(id) && entryOf(id) === f)).filter(Boolean);
  return list.length ? h('p', {class: 'dim'}, 'Of the same name: ', list.map((id, i) => [i ? ', ' : '', link(id), ' ' + (byID.get(id).op || byID.get(id).kind)]).flat()) : null;
}

function whyOf(id) {
  if (!id) return [];
  const n = byID.get(id);
  const head = h('div', {class: 'whyhead'}, h('h2', {tabindex: '-1'}, n && n.op ? n.op + ' ' : '', h('span', {class: 'name'}, id)),
    h('button', {type: 'button', class: 'close', title: 'close (Esc)', onclick: () => choose('', '', state.func)}, '×'));
  if (!n) return [head, ...goneOf(id)];
  const lines = n.text.map(i => doc.lines[i]);
  const at = lines.findIndex(l => /^ {2}(?:costs|copies between|reads|is copied|makes) ?/.test(l));
  const cut = at < 0 ? lines.length : at;
  return [head, h('p', {class: 'facts'}, isCopy(n) ? h('span', {class: 'badge copied'}, 'for ' + n.backend) : badge(n.backend), h('span', {class: 'dim'}, n.kind + (n.func ? ' of @' + n.func : '') + (n.pos ? ', from ' + n.pos : ''))), sameNames(n),
    ...whyLines(lines.slice(0, cut), n.func), n.tried ? triedTable(n.tried) : null, ...whyLines(lines.slice(cut), n.func)].filter(Boolean);
}

// whyLines returns the lines of an explanation; their blanks are their depth. Readers of a weight are in the functions
// that their lines name.
function whyLines(lines, func) {
  return lines.map(l => {
    const depth = /^ */.exec(l)[0].length / 2;
    return h('p', {class: 'line d' + Math.min(depth, 4)}, explained(l.trim(), func || functionIn(l), !func));
  });
}

function triedTable(tried) {
  return h('div', {class: 'tried'}, h('h3', null, 'Alternatives'),
    table(['backend', '', '>time', 'what moving it changes, or why not'], tried.map(a =>
      [badge(a.target), h('span', {class: 'verdict ' + a.verdict}, a.verdict), secondsText(a.seconds), [a.moving, a.why].filter(Boolean).join('; ')])));
}

// goneOf describes a value that the finished plan does not have: where it was last, and what names it.
function goneOf(id) {
  for (let k = doc.passes.length - 1; k >= 0; k--) {
    const line = textOf(k).find(l => l.def === id);
    if (!line) continue;
    const pos = /pos="((?:[^"\\]|\\.)*)"/.exec(line.text);
    const name = id.slice(line.func.length + 1);
    const next = doc.passes[k + 1];
    return [h('p', null, `The finished plan has no value of this name. The text after pass ${doc.passes[k].pass} is the last one with it` + (next ? `; pass ${next.pass} removed it, joined it with another one, or made it part of a repeat.` : '.')),
      h('div', {class: 'lines'}, h('div', {class: 'row'}, lineOf(line.text.trim(), line.func))),
      ...candidates('Named by the causes of', n => n.text.some(i => new RegExp('%' + escapeRegExp(name) + '(?![\\w.-])').test(doc.lines[i]) && /\(\w[\w-]*\.[\w-]+\)/.test(doc.lines[i])), line.func),
      ...(pos ? candidates('Of the same place in the model file, ' + pos[1], n => n.pos === pos[1], line.func) : [])];
  }
  const words = id.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  let like = [];
  while (words.length && !(like = findAll(words.join(' ')).slice(0, 12)).length) words.pop();
  return [h('p', null, 'Nothing in this plan has this name.'),
    ...(like.length ? [h('h3', null, 'Similar names'), ...like.map(n => h('p', null, link(n.id), ' ' + [n.op || n.kind, n.pos].filter(Boolean).join(', ')))] : [])];
}

function candidates(head, test, func) {
  const list = doc.nodes.filter(n => n.kind === 'node' && splitFunc(n.func)[0] === splitFunc(func)[0] && test(n)).slice(0, 12);
  return list.length ? [h('h3', null, head), h('p', null, list.map((n, i) => [i ? ', ' : '', link(n.id, n.id), ' ' + n.op]).flat())] : [];
}

function escapeRegExp(s) { return s.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'); }
