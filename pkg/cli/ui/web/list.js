// Copyright The kube-granular Authors.
// SPDX-License-Identifier: Apache-2.0

import { el } from "./dom.js";

/**
 * A row of a list. What a list does with more properties is its draw function's business.
 * @typedef {Object} Row
 * @property {string} id what the row is found by again after the rows changed
 * @property {number} [level] in a tree, from 1
 * @property {boolean} [open] in a tree, of a row with rows below it
 */

/**
 * Draws only the rows, and in a matrix only the columns, that are in view: 1,000 subjects by 300 kinds
 * are as fast as ten by ten. The focus stays at the list, and the active row is named by
 * aria-activedescendant, so drawing anew never loses it.
 */
export class List {
  /**
   * @param {Object} o
   * @param {"listbox" | "tree" | "treegrid" | "grid"} o.role
   * @param {string} o.label
   * @param {(row: any) => (Node | string)[]} o.draw the cells of a row; only the first one if there are columns
   * @param {(row: any, column: number) => void} [o.activate] on Enter or a click
   * @param {(row: any, open: boolean) => void} [o.toggle] opens or closes a row of a tree
   * @param {(row: any, column: number) => void} [o.move] the active row or column changed
   * @param {(column: number) => Node} [o.head] makes the heading of a column
   * @param {(row: any, column: number) => Node} [o.cell] makes a cell of a column
   * @param {string} [o.empty] what is said if there are no rows
   */
  constructor(o) {
    this.o = o;
    this.rows = /** @type {Row[]} */ ([]);
    this.columns = 0;
    this.at = 0;
    this.column = -1; // -1 is the row itself, or its first cell
    this.size = { height: 600, width: 1000 };
    this.view = "";
    this.name = "list" + ++List.made;
    this.body = el("div.rows", { role: "presentation" });
    this.node = el("div.list" + (o.head ? ".matrix" : ""), {
      role: o.role, tabindex: 0, "aria-label": o.label,
      onscroll: () => this.paint(true), onkeydown: e => this.key(e), onclick: e => this.click(e),
    }, this.body);
    // The size is told, and never asked for: asking makes the browser compute the layout at once.
    new ResizeObserver(([entry]) => {
      if (!entry.contentRect.height) return; // it is not in the page now
      this.size = entry.contentRect;
      this.paint(true);
      this.reveal();
    }).observe(this.node);
  }

  get rowHeight() { return 28; }
  get columnWidth() { return 30; }
  get headHeight() { return this.columns ? 132 : 0; }
  get firstWidth() { return Math.min(280, this.size.width * 0.45); }

  /**
   * Sets the rows, and makes one of them active.
   * @param {any[]} rows a Row each
   * @param {string} [id]
   * @param {number} [columns]
   */
  set(rows, id = this.rows[this.at]?.id, columns = 0) {
    this.rows = rows;
    this.columns = columns;
    this.at = Math.max(0, id === undefined ? 0 : rows.findIndex(r => r.id === id));
    this.column = Math.min(this.column, columns - 1);
    this.node.setAttribute("aria-rowcount", String(rows.length + (columns ? 1 : 0)));
    if (columns) this.node.setAttribute("aria-colcount", String(columns + 1));
    this.body.style.height = this.headHeight + rows.length * this.rowHeight + "px";
    this.body.style.width = columns ? this.firstWidth + columns * this.columnWidth + "px" : "";
    this.paint();
    this.reveal();
  }

  /** Draws what is in view. @param {boolean} [moved] nothing changed but what is in view */
  paint(moved) {
    const { scrollTop: top, scrollLeft: left } = this.node;
    const first = Math.max(0, Math.floor(top / this.rowHeight) - 4);
    const last = Math.min(this.rows.length, Math.ceil((top + this.size.height) / this.rowHeight) + 4);
    const from = Math.max(0, Math.floor(left / this.columnWidth) - 2);
    const to = Math.min(this.columns, Math.ceil((left + this.size.width - this.firstWidth) / this.columnWidth) + 2);
    const view = [first, last, from, to, this.columns && this.firstWidth].join();
    if (moved && view === this.view) return; // a row that is pressed stays, so it can be clicked
    this.view = view;
    const drawn = [];
    if (this.columns) drawn.push(this.heading(from, to));
    for (let i = first; i < last; i++) drawn.push(this.line(i, from, to));
    this.body.replaceChildren(...drawn, ...(this.rows.length ? [] : [el("p.empty", {}, this.o.empty ?? "nothing matches")]));
    const active = this.rows.length ? this.name + "-" + this.at + (this.column >= 0 ? "-" + this.column : "") : "";
    this.node.setAttribute("aria-activedescendant", active);
  }

  /** @param {number} from @param {number} to */
  heading(from, to) {
    const first = el("div.first", { role: "columnheader", "aria-colindex": 1 }, this.o.label),
      head = el("div.head", { role: "row", "aria-rowindex": 1 }, first);
    first.style.width = this.firstWidth + "px";
    for (let c = from; c < to; c++) {
      const cell = el("div.column", { role: "columnheader", "aria-colindex": c + 2, "data-column": c, "data-row": -1 }, this.o.head(c));
      cell.style.left = this.firstWidth + c * this.columnWidth + "px";
      head.append(cell);
    }
    return head;
  }

  /** @param {number} i @param {number} from @param {number} to */
  line(i, from, to) {
    const row = this.rows[i], grid = this.o.role !== "tree" && this.o.role !== "listbox";
    const active = i === this.at, id = this.name + "-" + i;
    const cells = this.o.draw(row);
    const node = el("div.row" + (active ? ".active" : ""), {
      role: grid ? "row" : this.o.role === "tree" ? "treeitem" : "option", id, "data-row": i,
      "aria-level": row.level, "aria-expanded": row.open === undefined ? null : String(row.open),
      "aria-rowindex": grid ? i + 1 + (this.columns ? 1 : 0) : null, "aria-selected": String(active && this.column < 0),
      "aria-posinset": grid ? null : i + 1, "aria-setsize": grid ? null : this.rows.length,
    });
    if (this.columns) {
      const first = el("div.first", { role: "rowheader", "aria-colindex": 1 }, cells);
      first.style.width = this.firstWidth + "px";
      node.append(first);
    } else {
      const twist = row.level ? el("span.twist", { "aria-hidden": "true" }, row.open === undefined ? "" : row.open ? "▾" : "▸") : null;
      if (twist) twist.style.marginLeft = (row.level - 1) * 14 + "px";
      cells.forEach((c, n) => node.append(grid ? el("div.cell", { role: "gridcell" }, n === 0 && twist, c)
        : el("span.cell", {}, n === 0 && twist, c)));
    }
    for (let c = from; c < to; c++) {
      const cell = /** @type {HTMLElement} */ (this.o.cell(row, c)), on = active && c === this.column;
      cell.id = id + "-" + c;
      cell.setAttribute("role", "gridcell");
      cell.setAttribute("aria-colindex", String(c + 2));
      cell.dataset.column = String(c);
      if (on) cell.classList.add("active");
      cell.style.left = this.firstWidth + c * this.columnWidth + "px";
      node.append(cell);
    }
    node.style.top = this.headHeight + i * this.rowHeight + "px";
    return node;
  }

  /** Scrolls to the active row and column. */
  reveal() {
    const top = this.at * this.rowHeight, height = this.size.height - this.headHeight;
    if (top < this.node.scrollTop) this.node.scrollTop = top;
    else if (top + this.rowHeight > this.node.scrollTop + height) this.node.scrollTop = top + this.rowHeight - height;
    if (this.column < 0) return;
    const left = this.column * this.columnWidth, width = this.size.width - this.firstWidth;
    if (left < this.node.scrollLeft) this.node.scrollLeft = left;
    else if (left + this.columnWidth > this.node.scrollLeft + width) this.node.scrollLeft = left + this.columnWidth - width;
  }

  /** @param {number} at @param {number} [column] */
  go(at, column = this.column) {
    this.at = Math.max(0, Math.min(at, this.rows.length - 1));
    this.column = Math.max(-1, Math.min(column, this.columns - 1));
    this.reveal();
    this.paint();
    if (this.rows.length) this.o.move?.(this.rows[this.at], this.column);
  }

  /** @param {KeyboardEvent} e @param {boolean} [lent] by an input that keeps the focus */
  key(e, lent) {
    if ((!lent && e.target !== this.node) || e.ctrlKey || e.metaKey || e.altKey || !this.rows.length) return;
    const row = this.rows[this.at], page = Math.max(1, Math.floor((this.size.height - this.headHeight) / this.rowHeight) - 1);
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page }[e.key];
    switch (e.key) {
      case "ArrowDown": case "ArrowUp": case "PageDown": case "PageUp": this.go(this.at + step); break;
      case "Home": this.go(this.columns ? this.at : 0, -1); break;
      case "End": this.columns ? this.go(this.at, this.columns - 1) : this.go(this.rows.length - 1); break;
      case "ArrowRight":
        if (this.columns) this.go(this.at, this.column + 1);
        else if (row.open === false) this.o.toggle?.(row, true);
        else if (row.open) this.go(this.at + 1);
        else return;
        break;
      case "ArrowLeft":
        if (this.columns) this.go(this.at, this.column - 1);
        else if (row.open) this.o.toggle?.(row, false);
        else if (row.level > 1) this.go(this.rows.findLastIndex((r, i) => i < this.at && r.level < row.level));
        else return;
        break;
      case "Enter": case " ": this.o.activate?.(row, this.column); break;
      default: return;
    }
    e.preventDefault();
  }

  /** @param {MouseEvent} e */
  click(e) {
    const target = /** @type {HTMLElement} */ (e.target);
    if (target.closest("a, button, input")) return;
    const hit = /** @type {HTMLElement} */ (target.closest("[data-row]")),
      cell = /** @type {HTMLElement} */ (target.closest("[data-column]"));
    // The row may have been drawn anew since the button went down; then its place tells which one it was.
    const top = hit ? 0 : this.body.getBoundingClientRect().top + this.headHeight;
    const at = hit ? Number(hit.dataset.row) : Math.floor((e.clientY - top) / this.rowHeight);
    const column = cell ? Number(cell.dataset.column) : -1;
    if (at >= this.rows.length) return;
    if (at >= 0) this.go(at, column);
    const row = at >= 0 ? this.rows[at] : null;
    if (row && row.open !== undefined && target.closest(".twist")) this.o.toggle?.(row, !row.open);
    else this.o.activate?.(row, column);
  }
}
List.made = 0;
