"use strict";
// The content of the page: the timeline of an episode, its unpacked arrays, and the values in each view.

const byId = (id) => document.getElementById(id);
const story = JSON.parse(byId("story").textContent);
const steps = story.when.length;
const watched = story.watcher !== "" && story.tracks.some((track) => track.observed_mask);
const TYPES = { float32: Float32Array, float64: Float64Array, int8: Int8Array, int16: Int16Array, int32: Int32Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, bool: Uint8Array };
const MANY = 12;  // the maximum number of distinguishable lines for one variable
const FEW = 4;  // the number of lines that are easy to distinguish
const state = { step: 0, view: "true", chosen: new Set(story.first), part: "mean", sums: "so far", find: "" };
let raw, pictures, timer = null;

// -- content --

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
    track.observed_mask = track.observed_mask && array(track.observed_mask);
    track.observed_values = track.observed_values && array(track.observed_values);
    track.coded = Object.keys(track.codes).length > 0;
    track.title = `${track.group} ${track.label}`;
  }
  for (const sums of [story.gains, story.costs]) for (const name in sums) sums[name] = Array.from(array(sums[name]));
}

// The value of one number in a variable at a step in a view; null if it was not observed.
function value(track, step, part, view) {
  const at = step * track.size + part;
  if (view === "true" || !track.observed_mask) return track.values[at];
  if (!track.observed_mask[at]) return null;
  return track.observed_values ? track.observed_values[at] : track.values[at];
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
  return [...times].sort((a, b) => b[1] - a[1])[0][0];  // the most frequent code
}

// The lines of a variable: [name, value of a step].
function linesOf(track, view) {
  if (track.size === 1) return [["", (step) => value(track, step, 0, view)]];
  const named = track.parts.map((name, part) => [name, (step) => value(track, step, part, view)]);
  const one = named.filter(([name]) => name === state.part);
  if (one.length) return one;
  const middle = [track.coded ? "most frequent" : "mean", (step) => mean(track, step, view)];
  return state.part === "each" && named.length <= MANY ? named : [middle];
}

const inWords = (track, number) => number === null ? "–" : track.coded ? track.codes[number] ?? String(number) : short(number);
const short = (number) => Number.isInteger(number) ? String(number) : String(Number(number.toPrecision(4)));
const withUnit = (track) => track.unit ? `${track.label}, ${track.unit}` : track.label;

// Gains as positive numbers, costs as negative numbers.
function* terms() {
  for (const [name, values] of Object.entries(story.gains)) yield [name, values];
  for (const [name, values] of Object.entries(story.costs)) yield [name, values.map((cost) => -cost)];
}

function total() {
  const sum = new Array(steps).fill(0);
  for (const [, values] of terms()) values.forEach((value, step) => { sum[step] += value; });
  return sum;
}
