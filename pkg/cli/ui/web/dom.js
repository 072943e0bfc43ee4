// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

/**
 * Makes an element. This is the only place that makes any, and it sets text as text: names in a snapshot
 * are hostile, and none ever becomes markup.
 * @param {string} name a tag, and classes after dots: "span.badge.warn"
 * @param {Record<string, any>} [props] functions are listeners (onclick); the rest are attributes, and
 *   false, null and undefined leave theirs out
 * @param {...any} children nodes, texts, and lists of them; false, null and undefined are left out
 * @returns {any}
 */
export function el(name, props, ...children) {
  const [tag, ...classes] = name.split(".");
  const node = /** @type {any} */ (document.createElement(tag));
  if (classes.length) node.className = classes.join(" ");
  for (const key in props) {
    const value = props[key];
    if (typeof value === "function") node.addEventListener(key.slice(2), value);
    else if (key === "value") node.value = value;
    else if (value !== false && value != null) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(9).filter(c => c != null && c !== false).map(c => (c instanceof Node ? c : plain(String(c)))));
  return node;
}

// Characters that can't be seen or that turn the direction of text: controls, zero width, bidirectional.
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0\ufe00-\ufe0f]/gu;

/**
 * Shows hidden characters of a name by their code, so that no two names look alike. Line breaks stay.
 * @param {string} text
 */
export const plain = text => text.replace(hidden, c => (c === "\n" ? c : "\\u" + (c.codePointAt(0) ?? 0).toString(16).padStart(4, "0")));

/** @param {string} id */
export const byId = id => /** @type {HTMLElement} */ (document.getElementById(id));

/** Says a text to screen readers. @param {string} text */
export const say = text => { byId("live").textContent = plain(text); };

/** @param {number} n @param {string} one @param {string} [many] */
export const count = (n, one, many = one + "s") => n + " " + (n === 1 ? one : many);

/** Copies a text, and says so. @param {string} text */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // A file has no clipboard in some browsers; the old command still works there.
    const area = el("textarea", { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say("copied");
}

/** A block of text to be copied, such as YAML. @param {string} text @param {string} label */
export const block = (text, label) => el("figure", { "aria-label": label },
  el("figcaption", {}, label, el("button", { type: "button", onclick: () => copy(text) }, "Copy")),
  el("pre", { tabindex: 0 }, text));
