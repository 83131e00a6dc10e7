"use strict";
// An episode on a page: the state is a step, a view, the variables that are drawn; everything shown follows from it.

const byId = (id) => document.getElementById(id);
const story = JSON.parse(byId("story").textContent);
const steps = story.when.length;
const watched = story.watcher !== "" && story.tracks.some((track) => track.seen);
const dark = matchMedia("(prefers-color-scheme: dark)");
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#7f7f7f"];
const LIGHT = ["#56b4e9", "#ff8f4a", "#35c79b", "#e2a5c6", "#f0c454", "#9fc5ff", "#c9a66b", "#b5b5b5"];
const colour = (n) => (dark.matches ? LIGHT : COLOURS)[n % COLOURS.length];
const TYPES = { float32: Float32Array, float64: Float64Array, int8: Int8Array, int16: Int16Array, int32: Int32Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, bool: Uint8Array };
const MANY = 12;  // lines of one variable that can still be told apart
const FEW = 4;  // lines that are told apart at once
const state = { step: 0, view: "true", chosen: new Set(story.first), part: "mean", sums: "so far", find: "" };
let raw, pictures, timer = null;

// -- what the page holds --

async function unzipped(id) {
  const letters = atob(byId(id).textContent);
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

function array([type, shape, place]) {
  const number = shape.reduce((a, b) => a * b, 1);
  if (type === "int64" || type === "uint64") {
    const wide = new (type === "int64" ? BigInt64Array : BigUint64Array)(raw, place, number);
    return Float64Array.from(wide, Number);
  }
  return new TYPES[type](raw, place, number);
}

function unpack() {
  for (const track of story.tracks) {
    const place = story.record[track.name];
    track.values = array(place);
    track.size = track.values.length / steps;
    track.seen = track.seen && array(track.seen);
    track.told = track.told && array(track.told);
    track.coded = Object.keys(track.codes).length > 0;
    track.title = `${track.group} ${track.label}`;
  }
  for (const sums of [story.gains, story.costs]) for (const name in sums) sums[name] = Array.from(array(sums[name]));
}

// What a view shows of one number of a variable at a step; null for what was not seen.
function value(track, step, part, view) {
  const at = step * track.size + part;
  if (view === "true" || !track.seen) return track.values[at];
  if (!track.seen[at]) return null;
  return track.told ? track.told[at] : track.values[at];
}

function mean(track, step, view) {
  const found = [];
  for (let part = 0; part < track.size; part++) {
    const one = value(track, step, part, view);
    if (one !== null && Number.isFinite(one)) found.push(one);
  }
  if (!found.length) return null;
  if (!track.coded) return found.reduce((a, b) => a + b, 0) / found.length;
  const times = new Map();
  for (const code of found) times.set(code, (times.get(code) || 0) + 1);
  return [...times].sort((a, b) => b[1] - a[1])[0][0];  // of codes the commonest
}

// The lines of a variable: [name, value of a step].
function linesOf(track, view) {
  if (track.size === 1) return [["", (step) => value(track, step, 0, view)]];
  const named = track.parts.map((name, part) => [name, (step) => value(track, step, part, view)]);
  const one = named.filter(([name]) => name === state.part);
  if (one.length) return one;
  const middle = [track.coded ? "commonest" : "mean", (step) => mean(track, step, view)];
  return state.part === "each" && named.length <= MANY ? named : [middle];
}

const told = (track, number) => number === null ? "–" : track.coded ? track.codes[number] ?? String(number) : short(number);
const short = (number) => Number.isInteger(number) ? String(number) : String(Number(number.toPrecision(4)));
const withUnit = (track) => track.unit ? `${track.label}, ${track.unit}` : track.label;

// -- elements --

function made(tag, text = "", given = {}) {
  const element = document.createElement(tag);
  element.textContent = text;
  return Object.assign(element, given);
}

function row(cells, tag = "td") {
  const line = made("tr");
  for (const cell of cells) {
    const box = line.appendChild(made(tag));
    box.append(cell instanceof Node ? cell : String(cell));
  }
  return line;
}

function fill(table, head, rows) {
  table.tHead.replaceChildren(row(head, "th"));
  for (const cell of table.tHead.rows[0].cells) cell.scope = "col";
  table.tBodies[0].replaceChildren(...rows);
}

function jump(step) {
  const button = made("button", story.when[step], { type: "button", title: "go there" });
  button.addEventListener("click", () => go(step));
  return button;
}

// -- the step --

function go(step) {
  state.step = Math.max(0, Math.min(steps - 1, step));
  byId("step").value = state.step;
  byId("step").setAttribute("aria-valuetext", story.when[state.step]);
  byId("when").textContent = `${story.when[state.step]} (${state.step} of ${steps - 1})`;
  draw();
  today();
  values();
  totals();
  markDeeds();
  for (const id of ["lines", "terms", "costs"]) cursor(byId(id));
}

function draw() {
  const view = pictures.views[state.view === "seen" && pictures.views.seen ? "seen" : "true"];
  if (!view) { byId("picture").hidden = true; return; }
  const at = Math.floor(state.step / story.every);
  const [width, height] = pictures.size, open = `<svg viewBox="0 0 ${width} ${height}" font-family="Helvetica, Arial, sans-serif">`;
  const panel = (parts) => `${open}${parts.map((part) => pictures.parts[part]).join("")}</svg>`;
  byId("drawing").innerHTML = view.drawings[at].map(panel).join("");
  byId("drawing").setAttribute("aria-label", `picture of ${story.when[at * story.every]}`);
  const late = story.every > 1 && state.step % story.every;
  byId("caption").textContent = late ? `drawn at ${story.when[at * story.every]}` : "";
  const [head, ...lines] = view.words[at].map((part) => pictures.parts[part]);
  byId("words").replaceChildren(made("h3", head), ...lines.map((line) => made("p", line)));
}

function today() {
  const done = story.deeds.filter((deed) => deed[0] === state.step);
  const items = done.map(([, who, what, cost, note]) =>
    made("li", `${who}: ${what}${cost ? `, cost ${short(cost)}` : ""}${note ? ` (${note})` : ""}`));
  byId("done").replaceChildren(...(items.length ? items : [made("li", "nothing")]));
  const parts = [...terms()].filter(([, values]) => values[state.step]).map(([name, values]) =>
    made("li", `${name}: ${short(values[state.step])}`));
  const sum = total().slice(0, state.step + 1).reduce((a, b) => a + b, 0);
  byId("earned").replaceChildren(...parts, made("li", `reward so far: ${short(sum)}`));
}

// Gains as they are, costs as negative numbers.
function* terms() {
  for (const [name, values] of Object.entries(story.gains)) yield [name, values];
  for (const [name, values] of Object.entries(story.costs)) yield [name, values.map((cost) => -cost)];
}

function total() {
  const sum = new Array(steps).fill(0);
  for (const [, values] of terms()) values.forEach((value, step) => { sum[step] += value; });
  return sum;
}

// -- charts --

const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const running = (values) => { let sum = 0; return values.map((value) => (sum += value)); };
const times = Array.from({ length: steps }, (_, step) => step);
const days = story.when.map(plain);

function look() {
  const style = getComputedStyle(document.documentElement);
  const [ink, line] = ["--ink", "--line"].map((name) => style.getPropertyValue(name).trim());
  const axis = { gridcolor: line, linecolor: line, zerolinecolor: line, automargin: true };
  return { axis, layout: { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink, size: 12 },
    margin: { l: 8, r: 12, t: 26, b: 8 }, hovermode: "x unified", hoverlabel: { font: { color: "#222" }, bgcolor: "#fff" },
    legend: { orientation: "h", y: -0.12, yanchor: "top" }, showlegend: true } };
}

function show(id, traces, layout) {
  const box = byId(id);
  box.hidden = !traces.length;
  if (!traces.length) return;
  const marks = ticks(), ticktext = marks.map((step) => days[step].split(",")[0]);
  layout.xaxis = { ...look().axis, ...layout.xaxis, range: [-0.5, steps - 0.5], tickvals: marks, ticktext };
  layout.shapes = [cursorAt()];
  Plotly.react(box, traces, layout, { responsive: true, displaylogo: false, displayModeBar: false });
  if (!box.dataset.heard) box.on("plotly_click", (event) => go(event.points[0].x));
  box.dataset.heard = "yes";
}

const cursorAt = () => ({ type: "line", xref: "x", yref: "paper", x0: state.step, x1: state.step, y0: 0, y1: 1,
  line: { color: "#888", width: 2, dash: "dot" } });

function cursor(box) {
  if (!box.hidden && box.data) Plotly.relayout(box, { shapes: [cursorAt()] });
}

// Variables of one unit share a panel; each choice has its own.
function panels() {
  const found = new Map();
  for (const at of state.chosen) {
    const track = story.tracks[at];
    const key = track.coded || !track.unit ? track.title : track.unit;
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(track);
  }
  return [...found.values()];
}

function trace(track, name, read, paint, axis, view) {
  const points = times.map(read);
  const sparse = view === "seen" && points.some((point) => point === null);
  const label = [track.title, name, view === "seen" && state.view === "both" ? "observed" : ""].filter(Boolean).join(" ");
  const dots = view === "seen" && (sparse || state.view === "both");
  return { type: "scatter", x: times, y: points, yaxis: axis, name: plain(label), connectgaps: true,
    mode: dots ? (track.told || !sparse ? "markers" : "lines+markers") : "lines", marker: { color: paint, size: 5 },
    line: { color: paint, width: 2, shape: track.coded || sparse ? "hv" : "linear", dash: sparse ? "dot" : "solid" },
    text: times.map((step) => plain(`${told(track, points[step])} ${track.unit}`)),
    hovertemplate: "%{text}<extra>%{fullData.name}</extra>" };
}

function chart() {
  const all = panels(), { axis, layout } = look(), traces = [];
  layout.height = 60 + 30 * Math.ceil(all.flat().length / 3) + 190 * all.length;
  layout.annotations = [];
  all.forEach((tracks, at) => {
    const name = at ? `yaxis${at + 1}` : "yaxis", top = 1 - at / all.length, room = 34 / (190 * all.length);
    layout[name] = { ...axis, domain: [top - 1 / all.length + room / 3, top - room], ...scale(tracks) };
    layout.annotations.push({ text: plain(heading(tracks)), xref: "paper", yref: "paper", x: 0, y: top - room, showarrow: false,
      xanchor: "left", yanchor: "bottom", font: { size: 13 } });
    for (const track of tracks) {
      for (const view of state.view === "both" ? ["true", "seen"] : [state.view]) {
        if (view === "seen" && (!track.seen || !track.seen.includes(1)) && (track.seen || state.view === "both")) continue;
        linesOf(track, view).forEach(([part, read], n) => {
          traces.push(trace(track, part, read, colour(tracks.indexOf(track) + n), at ? `y${at + 1}` : "y", view));
        });
      }
    }
  });
  layout.margin.t = 4;
  layout.xaxis = { anchor: all.length > 1 ? `y${all.length}` : "y" };
  layout.showlegend = traces.length > all.length;
  if (!layout.showlegend) layout.height -= 30;
  show("lines", traces, layout);
  const never = [...state.chosen].map((at) => story.tracks[at]).filter((track) => track.seen && !track.seen.includes(1));
  byId("unseen").textContent = state.view !== "true" && never.length
    ? `Never observed: ${never.map((track) => track.title).join("; ")}.` : "";
}

const heading = (tracks) => tracks.length === 1 ? `${tracks[0].group} ${withUnit(tracks[0])}` : tracks[0].unit;

function scale(tracks) {
  if (!tracks[0].coded) return {};
  const used = new Set(tracks[0].values), codes = [...used].sort((a, b) => a - b);
  return { tickvals: codes, ticktext: codes.map((code) => plain(told(tracks[0], code))) };
}

function ticks() {
  const number = Math.max(2, Math.min(8, Math.floor(document.body.clientWidth / 180)));
  return [...new Set(Array.from({ length: number }, (_, n) => Math.round(n * (steps - 1) / (number - 1))))];
}

function rewards() {
  const { axis, layout } = look(), far = state.sums === "so far";
  const traces = [...terms()].filter(([, values]) => values.some(Boolean)).map(([name, values], n) => ({
    type: far ? "scatter" : "bar", mode: "lines", x: times, y: far ? running(values) : values, name: plain(name), text: days,
    line: { color: colour(n), width: 2, shape: "hv" }, marker: { color: colour(n) },
    hovertemplate: "%{y:.4g}<extra>%{fullData.name}</extra>" }));
  if (far) traces.push({ type: "scatter", mode: "lines", x: times, y: running(total()), name: "reward",
    line: { color: layout.font.color, width: 3, shape: "hv" }, hovertemplate: "%{y:.4g}<extra>reward</extra>" });
  show("terms", traces, { ...layout, height: 320, barmode: "relative", yaxis: axis });
}

function costs() {
  const { axis, layout } = look();
  const traces = Object.entries(story.costs).filter(([, values]) => values.some(Boolean)).map(([name, values], n) => ({
    type: "bar", x: times, y: values, name: plain(name), marker: { color: colour(n + 1) },
    hovertemplate: "%{y:.4g}<extra>%{fullData.name}</extra>" }));
  const title = { text: "cost of each step", x: 0, xref: "paper", font: { size: 13 } };
  show("costs", traces, { ...layout, height: 240, title, barmode: "stack", yaxis: axis });
}

// -- tables --

function values() {
  const rows = [], showing = { true: state.view !== "seen" || !watched, seen: watched };
  const pick = (name, truth, seen, when, unit) =>
    [name, ...(showing.true ? [truth] : []), ...(showing.seen ? [seen, when] : []), unit];
  for (const track of [...state.chosen].map((at) => story.tracks[at])) {
    linesOf(track, "true").forEach(([part, read], n) => {
      const truth = told(track, read(state.step)), [seen, step] = lastSeen(linesOf(track, "seen")[n][1]);
      const age = seen === null ? "never" : step === state.step ? "now" : story.when[step];
      rows.push(row(pick(`${track.title} ${part}`, truth, track.seen ? told(track, seen) : "", track.seen ? age : "", track.unit)));
    });
  }
  fill(byId("values"), pick("variable", "true", "last observed", "when", "unit"), rows);
}

function lastSeen(read) {
  for (let step = state.step; step >= 0; step--) if (read(step) !== null) return [read(step), step];
  return [null, -1];
}

function totals() {
  const counted = [...terms()].filter(([, values]) => values.some(Boolean));
  const rows = [...counted, ["reward", total()]].map(([name, values]) => {
    const sums = running(values);
    return row([name, short(values[state.step]), short(sums[state.step]), short(sums[steps - 1])]);
  });
  fill(byId("totals"), ["term", "this step", "so far", "in the end"], rows);
}

function deeds() {
  const several = new Set(story.deeds.map((deed) => deed[1])).size > 1, paid = story.deeds.some((deed) => deed[3]);
  const pick = (when, who, what, cost, note) => [when, ...(several ? [who] : []), what, ...(paid ? [cost] : []), note];
  const rows = story.deeds.map(([step, who, what, cost, note]) => row(pick(jump(step), who, what, short(cost), note)));
  rows.forEach((line, n) => { line.dataset.step = story.deeds[n][0]; });
  fill(byId("deeds"), pick("when", "who", "what", "cost", "what came of it"), rows);
}

function markDeeds() {
  const box = byId("deeds").parentElement, rows = [...byId("deeds").tBodies[0].rows];
  for (const line of rows) line.classList.toggle("now", Number(line.dataset.step) === state.step);
  const next = rows.find((line) => Number(line.dataset.step) >= state.step);
  if (next) box.scrollTop = next.offsetTop - box.clientHeight / 2;
}

function fates() {
  byId("fates").hidden = !story.fates.length;
  fill(byId("ends"), ["when", "plant and plot", "what", "before"],
    story.fates.map(([step, who, why, before]) => row([jump(step), who, why, before])));
}

// -- what is chosen --

function list() {
  const groups = new Map();
  story.tracks.forEach((track, at) => {
    if (state.find && !`${track.title} ${track.doc}`.toLowerCase().includes(state.find)) return;
    if (!groups.has(track.group)) groups.set(track.group, []);
    groups.get(track.group).push(at);
  });
  byId("list").replaceChildren(...[...groups].map(([name, members]) => {
    const box = made("div");
    box.append(made("b", name), ...members.map(choice));
    return box;
  }));
}

function choice(at) {
  const track = story.tracks[at], label = made("label", "", { title: track.doc });
  const box = made("input", "", { type: "checkbox", checked: state.chosen.has(at), value: at });
  box.addEventListener("change", () => { state.chosen[box.checked ? "add" : "delete"](at); chosen(); });
  label.append(box, ` ${withUnit(track)}`);
  return label;
}

function chosen() {
  byId("picked").textContent = `Choose variables (${state.chosen.size} of ${story.tracks.length})`;
  const parts = new Set([...state.chosen].flatMap((at) => story.tracks[at].size > 1 ? story.tracks[at].parts : []));
  const options = [["mean", "mean, or the commonest"], ["each", `each, up to ${MANY}`], ...[...parts].map((name) => [name, name])];
  byId("part").replaceChildren(...options.map(([value, text]) => made("option", text, { value })));
  if (!options.some(([value]) => value === state.part)) state.part = "mean";
  byId("part").value = state.part;
  byId("which").hidden = !parts.size;
  chart();
  values();
}

function views() {
  byId("views").hidden = !watched;
  byId("watched").textContent = `what ${story.watcher} had observed`;
}

// -- playing --

function play(on) {
  clearInterval(timer);
  timer = null;
  byId("play").textContent = on ? "Pause" : "Play";
  byId("play").setAttribute("aria-pressed", String(on));
  if (!on) return;
  if (state.step === steps - 1) go(0);
  timer = setInterval(() => { if (state.step < steps - 1) go(state.step + 1); else play(false); }, 1000 / byId("speed").value);
}

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, summary")) return;
  const moves = { ArrowLeft: -1, ArrowRight: 1, Home: -steps, End: steps };
  if (event.key in moves) { event.preventDefault(); go(state.step + moves[event.key]); }
  if (event.key === " " && !event.target.closest("button")) { event.preventDefault(); play(!timer); }
}

function listen() {
  byId("step").addEventListener("input", () => go(Number(byId("step").value)));
  byId("back").addEventListener("click", () => go(state.step - 1));
  byId("next").addEventListener("click", () => go(state.step + 1));
  byId("play").addEventListener("click", () => play(!timer));
  byId("speed").addEventListener("change", () => { if (timer) play(true); });
  byId("find").addEventListener("input", () => { state.find = byId("find").value.toLowerCase(); list(); });
  byId("part").addEventListener("change", () => { state.part = byId("part").value; chosen(); });
  document.addEventListener("keydown", keys);
  for (const box of document.getElementsByName("view")) {
    box.addEventListener("change", () => { state.view = box.value; chart(); go(state.step); });
  }
  for (const box of document.getElementsByName("sums")) {
    box.addEventListener("change", () => { state.sums = box.value; rewards(); });
  }
  dark.addEventListener("change", () => { chart(); rewards(); costs(); });
}

function legend() {
  byId("legend").replaceChildren(...story.legend.map(([icon, meaning]) => {
    const item = made("li");
    item.innerHTML = icon;
    item.append(made("span", meaning));
    return item;
  }));
}

async function begin() {
  raw = await unzipped("arrays");
  pictures = JSON.parse(new TextDecoder().decode(await unzipped("pictures")));
  unpack();
  if (story.first.every((at) => story.tracks[at].size <= FEW)) state.part = "each";
  byId("step").max = steps - 1;
  byId("sum").textContent = `${steps - 1} steps, reward ${short(total().reduce((a, b) => a + b, 0))}.`;
  views();
  legend();
  list();
  chosen();
  rewards();
  costs();
  deeds();
  fates();
  listen();
  go(0);
  document.body.dataset.ready = "yes";
}

begin();
