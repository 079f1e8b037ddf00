// text.js: lines of the text form and of explanations, with their values as links.

// token matches what lines consist of: texts in quotes, values, functions, backends, and words before a bracket.
const token = /"(?:[^"\\]|\\.)*"|[%@](?:"(?:[^"\\]|\\.)*"|[\w.\-]+)|\b[a-z_]+(?==)/g;

// manyOperands is from where the operands of a line are folded.
const manyOperands = 20;

// pieces splits a line of the text form into [start, end, class, id].
function pieces(line, func) {
  const list = [];
  const tail = causesAt(line);
  let at = 0, values = 0;
  const plain = end => { if (end > at) list.push([at, end, at >= tail ? 'cause' : '', '']); at = end; };
  token.lastIndex = 0;
  for (let m; (m = token.exec(line));) {
    if (at < tail && m.index >= tail) plain(tail);
    plain(m.index);
    const text = m[0], sign = text[0];
    at += text.length;
    let cls = at > tail ? 'cause' : '', id = '';
    if (sign === '%') { id = resolve(text, func); cls += ' val'; values++; }
    else if (sign === '@') cls += isFunc(line, m.index) ? ' fn' : ' on ' + backendClass(text.slice(1));
    else if (sign === '"') { cls += ' str'; id = memberAt(line, m.index, text); }
    else cls += ' key';
    list.push([m.index, at, cls, id]);
  }
  if (at < tail && tail < line.length) plain(tail);
  plain(line.length);
  return {list, values};
}

// causesAt returns where the causes of a line begin.
function causesAt(line) {
  let quoted = false;
  for (let i = 0; i < line.length; i++) {
    if (line[i] === '"') quoted = !quoted;
    else if (quoted && line[i] === '\\') i++;
    else if (!quoted && line.startsWith(' ; ', i)) return i;
  }
  return line.length;
}

function isFunc(line, i) { return /(?:func|body|prefill|decode|joint) ?=? ?$/.test(line.slice(0, i)); }

// memberAt returns the id of the weight or state that a line of the head declares, or that a node names.
function memberAt(line, i, text) {
  if (!/(?:^|= )(?:weight|state) $/.test(line.slice(0, i))) return '';
  const plain = text.slice(1, -1);
  const id = /^[\w.\-]+$/.test(plain) ? plain : text;
  return byID.has(id) ? id : '';
}

// lineOf returns a line of the text form. Some ranges of it are marked as changed.
function lineOf(line, func, marks) {
  const {list, values} = pieces(line, func);
  const out = [], hidden = [];
  let seen = 0;
  for (const [start, end, cls, id] of list) {
    if (id) seen++;
    const into = values > manyOperands && seen > 8 && seen < values - 2 && start < causesAt(line) ? hidden : out;
    if (into === out && hidden.length && !hidden.placed) { hidden.placed = true; out.push(more(hidden, values)); }
    for (const [a, b, marked] of parts(start, end, marks || [])) into.push(span(line.slice(a, b), cls, id, marked));
  }
  return out;
}

// parts cuts a piece of a line where marked ranges begin and end.
function parts(start, end, marks) {
  const out = [];
  for (const [from, to] of marks) {
    if (to <= start || from >= end) continue;
    if (from > start) out.push([start, from, false]);
    out.push([Math.max(start, from), Math.min(end, to), true]);
    start = Math.min(end, to);
  }
  if (start < end) out.push([start, end, false]);
  return out;
}

// word matches what is compared of two lines: values, words, and single characters.
const word = /[%@]?"(?:[^"\\]|\\.)*"|[%@]?[\w.\-\/]+|./g;

// manyWords is up to where the words of two lines are compared, which takes time that grows with the square.
const manyWords = 400;

// changedIn returns the ranges of a line that are not in the line that it was made of, between two positions.
function changedIn(was, now, from, to) {
  const end = was.length - (now.length - to);
  const old = was.slice(from, end).match(word) || [], list = now.slice(from, to).match(word) || [];
  if (old.length * list.length > manyWords ** 2) return [[from, to]];
  const kept = common(old, list);
  const marks = [];
  let at = from;
  list.forEach((w, i) => {
    const last = marks[marks.length - 1];
    if (!kept.has(i)) { if (last && last[1] === at) last[1] += w.length; else marks.push([at, at + w.length]); }
    at += w.length;
  });
  return marks;
}

// common returns the indexes of the words of b in a longest common subsequence of a and b.
function common(a, b) {
  const best = Array.from({length: a.length + 1}, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) best[i][j] = a[i] === b[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
  const kept = new Set();
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) { kept.add(j); i++; j++; } else if (best[i + 1][j] >= best[i][j + 1]) i++; else j++;
  }
  return kept;
}

function span(text, cls, id, marked) {
  const e = id ? link(id, text, cls) : cls ? h('span', {class: cls}, text) : text;
  return marked ? h('mark', null, e) : e;
}

// more returns a button that shows the operands that were left out.
function more(hidden, values) {
  const button = h('button', {type: 'button', class: 'more', onclick: e => { e.stopPropagation(); button.replaceWith(...hidden); }}, '… of ' + values + ' values …');
  return button;
}

// explained returns a line of an explanation with links. Values in it are those of a function, which links name if
// whole is set.
function explained(line, func, whole) {
  const out = [];
  let at = 0;
  token.lastIndex = 0;
  for (let m; (m = token.exec(line));) {
    if (m[0][0] !== '%') continue;
    const id = resolve(m[0].replace(/\.+$/, ''), func);
    out.push(line.slice(at, m.index), link(id, whole && byID.has(id) ? id : m[0], 'val'));
    at = m.index + m[0].length;
  }
  out.push(line.slice(at));
  return out;
}

// textOf returns the text after pass number k of the list: for each line its text, the line before that it was made of
// (-1 for a new one), the changed range, its function and entry point, and whether it moved.
const texts = [];

function textOf(k) {
  if (!texts[k]) texts[k] = withFuncs(k === 0 ? doc.passes[0].edits.map(([i]) => ({text: doc.lines[i], old: -1})) : edited(textOf(k - 1), doc.passes[k].edits || []));
  return texts[k];
}

function edited(before, edits) {
  const out = [];
  let last = -1;
  const add = (text, old, from, to) => { out.push({text, old, from, to, was: from === undefined ? null : before[old].text, moved: old >= 0 && old < last}); last = Math.max(last, old); };
  for (const e of edits) {
    if (e.length === 1) add(doc.lines[e[0]], -1);
    else if (e.length === 2) for (let i = e[0]; i < e[0] + e[1]; i++) add(before[i].text, i);
    else {
      const old = before[e[0]].text, middle = doc.lines[e[3]];
      add(old.slice(0, e[1]) + middle + (e[2] ? old.slice(-e[2]) : ''), e[0], e[1], e[1] + middle.length);
    }
  }
  return out;
}

function withFuncs(lines) {
  const stack = [];
  for (const l of lines) {
    const m = /^\s*(?:func|body) @("(?:[^"\\]|\\.)*"|[\w.\-]+)/.exec(l.text);
    if (m) stack.push(m[1]);
    l.func = stack.length ? stack[stack.length - 1] : '';
    l.entry = stack.length ? stack[0] : '';
    if (stack.length && /^\s*\}$/.test(l.text)) stack.pop();
    const def = /^\s*(%(?:"(?:[^"\\]|\\.)*"|[\w.\-]+)).* = /.exec(l.text);
    l.def = def ? resolve(def[1], l.func) : '';
  }
  return lines;
}
