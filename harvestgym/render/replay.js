// The page: everything shown is derived from a state (step, view, choice).

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
  const button = made("button", story.when[step], { type: "button", title: "go to this step" });
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
  const view = pictures.views[state.view === "observed" && pictures.views.observed ? "observed" : "true"];
  if (!view) { byId("picture").hidden = true; return; }
  const at = Math.floor(state.step / story.every);
  byId("drawing").replaceChildren(...view.drawings[at].map((panel) => drawing(panel.map((part) => pictures.parts[part]))));
  byId("drawing").setAttribute("aria-label", `picture of ${story.when[at * story.every]}`);
  const late = story.every > 1 && state.step % story.every;
  byId("caption").textContent = late ? `drawn at ${story.when[at * story.every]}` : "";
  const [head, ...lines] = view.words[at].map((part) => pictures.parts[part]);
  byId("words").replaceChildren(made("h3", head), ...lines.map((line) => made("p", line)));
}

function drawing([title, box, ...lines]) {
  const whole = made("div");
  whole.innerHTML = `<p></p><svg viewBox="${box}" font-family="Helvetica, Arial, sans-serif">${lines.join("")}</svg>`;
  whole.firstChild.textContent = title;
  return whole;
}

function today() {
  const done = story.actions.filter((action) => action[0] === state.step);
  const items = done.map(([, what, cost, outcome]) =>
    made("li", `${what}${cost ? `, cost ${short(cost)}` : ""}${outcome ? ` (${outcome})` : ""}`));
  byId("done").replaceChildren(...(items.length ? items : [made("li", "nothing")]));
  const parts = [...terms()].filter(([, values]) => values[state.step]).map(([name, values]) =>
    made("li", `${name}: ${short(values[state.step])}`));
  const sum = total().slice(0, state.step + 1).reduce((a, b) => a + b, 0);
  byId("earned").replaceChildren(...parts, made("li", `reward so far: ${short(sum)}`));
  const said = story.messages.filter(([step]) => step === state.step);
  byId("said").replaceChildren(...said.flatMap(([, sender, text]) => [made("h3", sender), made("p", text, { className: "said" })]));
}

// -- tables --

function values() {
  const rows = [], showing = { true: state.view !== "observed" || !watched, observed: watched };
  const pick = (name, truth, seen, when, unit) =>
    [name, ...(showing.true ? [truth] : []), ...(showing.observed ? [seen, when] : []), unit];
  for (const track of [...state.chosen].map((at) => story.tracks[at])) {
    linesOf(track, "true").forEach(([part, read], n) => {
      const truth = inWords(track, read(state.step)), [seen, step] = lastSeen(linesOf(track, "observed")[n][1]);
      const age = seen === null ? "never" : step === state.step ? "now" : story.when[step];
      rows.push(row(pick(`${track.title} ${part}`, truth, track.observed_mask ? inWords(track, seen) : "", track.observed_mask ? age : "", track.unit)));
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
  fill(byId("totals"), ["term", "this step", "so far", "total"], rows);
}

function showActions() {
  const paid = story.actions.some((action) => action[2]), noted = story.actions.some((action) => action[3]);
  const pick = (when, what, cost, outcome) => [when, what, ...(paid ? [cost] : []), ...(noted ? [outcome] : [])];
  const rows = story.actions.map(([step, what, cost, outcome]) => row(pick(jump(step), what, short(cost), outcome)));
  rows.forEach((line, n) => { line.dataset.step = story.actions[n][0]; });
  fill(byId("action-table"), pick("when", "action", "cost", "outcome"), rows);
}

function markDeeds() {
  const box = byId("action-table").parentElement, rows = [...byId("action-table").tBodies[0].rows];
  for (const line of rows) line.classList.toggle("now", Number(line.dataset.step) === state.step);
  const next = rows.find((line) => Number(line.dataset.step) >= state.step);
  if (next) box.scrollTop = next.offsetTop - box.clientHeight / 2;
}

function showEvents() {
  byId("events").hidden = !story.events.length;
  fill(byId("event-table"), ["when", "what happened"], story.events.map(([step, what]) => row([jump(step), what])));
}

function showMessages() {
  byId("messages").hidden = !story.messages.length;
  const rows = story.messages.map(([step, sender, text]) => row([jump(step), sender, made("span", text, { className: "said" })]));
  fill(byId("message-table"), ["when", "who", "message"], rows);
}

function showNotes() {
  byId("result").hidden = !story.notes.length;
  byId("notes").replaceChildren(...story.notes.map((note) => made("li", note)));
}

// -- selection --

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
  const options = [["mean", "mean, or most frequent"], ["each", `each, up to ${MANY}`], ...[...parts].map((name) => [name, name])];
  byId("part").replaceChildren(...options.map(([value, text]) => made("option", text, { value })));
  if (!options.some(([value]) => value === state.part)) state.part = "mean";
  byId("part").value = state.part;
  byId("which").hidden = !parts.size;
  chart();
  values();
}

function views() {
  byId("views").hidden = !watched;
  byId("watched").textContent = `observations of ${story.watcher}`;
}

// -- playing --

// No actions or gains follow the last event, apart from the end.
function isIdle() { return story.last !== null && story.last < steps - 8; }

function nextShown() { return isIdle() && state.step > story.last ? steps - 1 : state.step + 1; }

function play(on) {
  clearInterval(timer);
  timer = null;
  byId("play").textContent = on ? "Pause" : "Play";
  byId("play").setAttribute("aria-pressed", String(on));
  if (!on) return;
  if (state.step === steps - 1) go(0);
  timer = setInterval(() => { if (state.step < steps - 1) go(nextShown()); else play(false); }, 1000 / byId("speed").value);
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
  byId("sum").textContent = `${steps - 1} steps, reward ${short(total().reduce((a, b) => a + b, 0))}.` +
    (isIdle() ? ` Nothing was done or gained after step ${story.last}: playing skips to the end.` : "");
  views();
  legend();
  if (story.every === 1) byId("today-head").after(byId("words"));  // otherwise the words may be for an earlier step
  list();
  chosen();
  rewards();
  costs();
  showActions();
  showEvents();
showMessages();
  showNotes();
  listen();
  go(0);
  document.body.dataset.ready = "yes";
}

begin();
