// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

import { byId, el } from "./dom.js";

/** Reports whether the page is a file: then its snapshot stands in it, and nobody answers questions. */
export const file = byId("snapshot") !== null;

/**
 * Asks the server of the page.
 * @param {string} name of the question, such as grant
 * @param {any} [body] what is sent; without it, the answer is only read
 * @param {AbortSignal} [signal]
 */
export async function ask(name, body, signal) {
  const init = body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch("api/" + name, { ...init, signal, credentials: "same-origin" });
  const text = await answer.text();
  let data;
  try {
    data = JSON.parse(text);
  } catch {
    throw new Error(answer.status + ": " + text.slice(0, 200));
  }
  if (!answer.ok) throw new Error(data.error ?? "the server answers " + answer.status);
  return data;
}

/** @param {AbortSignal} [signal] @returns {Promise<any>} the snapshot */
export async function load(signal) {
  return file ? JSON.parse(byId("snapshot").textContent ?? "") : ask("snapshot", undefined, signal);
}

/** Quotes a word for a shell. @param {string} word */
export const shell = word => (/^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'");

/**
 * Fills a node with an answer when it comes; until then, and if it fails, the node says so. A later
 * question to the same node wins over an earlier one.
 * @param {HTMLElement} node @param {() => Promise<any>} question @param {(answer: any) => (Node | string | false)[]} draw
 */
export async function fill(node, question, draw) {
  const turn = (fill.turn = (fill.turn ?? 0) + 1);
  node.dataset.turn = String(turn);
  node.replaceChildren(el("p.dim", {}, "asking the server …"));
  let content;
  try {
    content = draw(await question());
  } catch (e) {
    content = [el("p.no", { role: "alert" }, "✕ " + (e instanceof Error ? e.message : e))];
  }
  if (node.dataset.turn === String(turn)) node.replaceChildren(...content.filter(c => c !== false));
}
fill.turn = 0;
