// The charts: the chosen variables, the reward by term and the cost of each step.

const dark = matchMedia("(prefers-color-scheme: dark)");
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#7f7f7f"];
const LIGHT = ["#56b4e9", "#ff8f4a", "#35c79b", "#e2a5c6", "#f0c454", "#9fc5ff", "#c9a66b", "#b5b5b5"];
const colour = (n) => (dark.matches ? LIGHT : COLOURS)[n % COLOURS.length];

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
  box.style.height = `${layout.height}px`; // a window resize uses the size of the box, not the layout
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

// Variables with the same unit share a panel; each choice has a separate panel.
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

function trace(track, name, read, paint, view) {
  const points = times.map(read);
  const sparse = view === "observed" && points.some((point) => point === null);
  const label = [track.title, name, view === "observed" && state.view === "both" ? "observed" : ""].filter(Boolean).join(" ");
  const dots = view === "observed" && (sparse || state.view === "both");
  return { type: "scatter", x: times, y: points, name: plain(label), connectgaps: true,
    mode: dots ? (track.observed_values || !sparse ? "markers" : "lines+markers") : "lines", marker: { color: paint, size: 5 },
    line: { color: paint, width: 2, shape: track.coded || sparse ? "hv" : "linear", dash: sparse ? "dot" : "solid" },
    text: times.map((step) => plain(`${inWords(track, points[step])} ${track.unit}`)),
    hovertemplate: "%{text}<extra>%{fullData.name}</extra>" };
}

function tracesOf(tracks) {
  const found = [];
  tracks.forEach((track, at) => {
    for (const view of state.view === "both" ? ["true", "observed"] : [state.view]) {
      if (view === "observed" && (track.observed_mask ? !track.observed_mask.includes(1) : state.view === "both")) continue;
      linesOf(track, view).forEach(([part, read], n) => found.push(trace(track, part, read, colour(at + n), view)));
    }
  });
  return found;
}

function chart() {
  const shown = panels().map((tracks) => [tracks, tracesOf(tracks)]).filter(([, traces]) => traces.length);
  const { axis, layout } = look(), all = [], number = shown.length;
  layout.annotations = [];
  shown.forEach(([tracks, traces], at) => {
    const name = at ? String(at + 1) : "", top = 1 - at / number, room = 34 / (190 * number);
    layout[`yaxis${name}`] = { ...axis, domain: [top - 1 / number + room / 3, top - room], ...scale(tracks) };
    layout.annotations.push({ text: plain(heading(tracks)), xref: "paper", yref: "paper", x: 0, y: top - room,
      showarrow: false, xanchor: "left", yanchor: "bottom", font: { size: 13 } });
    all.push(...traces.map((trace) => ({ ...trace, yaxis: `y${name}` })));
  });
  layout.margin.t = 4;
  layout.xaxis = { anchor: number > 1 ? `y${number}` : "y" };
  layout.showlegend = all.length > number;
  layout.height = 40 + 190 * number + (layout.showlegend ? 30 + 30 * Math.ceil(all.length / 3) : 0);
  show("lines", all, layout);
  const never = [...state.chosen].map((at) => story.tracks[at]).filter((track) => track.observed_mask && !track.observed_mask.includes(1));
  byId("unseen").textContent = state.view !== "true" && never.length
    ? `Never observed: ${never.map((track) => track.title).join("; ")}.` : "";
}

const heading = (tracks) => tracks.length === 1 ? `${tracks[0].group} ${withUnit(tracks[0])}` : tracks[0].unit;

function scale(tracks) {
  if (!tracks[0].coded) return {};
  const used = new Set(tracks[0].values), codes = [...used].sort((a, b) => a - b);
  return { tickvals: codes, ticktext: codes.map((code) => plain(inWords(tracks[0], code))) };
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
