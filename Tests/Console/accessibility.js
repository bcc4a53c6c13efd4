// Checks what a person with a keyboard, a screen reader or weak sight meets on the page that is shown: an expression whose value is
// the list of faults in words. Rules by WCAG 2.2, levels A and AA, as far as a script can judge them.
(() => {
  const faults = [];
  // Elements of the page may have a tree of their own.
  const roots = [document, ...[...document.querySelectorAll("*")].map(element => element.shadowRoot).filter(Boolean)];
  const all = selector => roots.flatMap(root => [...root.querySelectorAll(selector)]);
  const host = element => element.parentElement ?? element.getRootNode().host ?? null;
  const name = element => `<${element.tagName.toLowerCase()}${element.id ? ` id=${element.id}` : ""}${element.className && typeof element.className === "string" ? ` class=${element.className}` : ""}> “${(element.textContent ?? "").trim().slice(0, 30)}”`;
  const expect = (isRight, element, words) => { if (!isRight) faults.push(`${name(element)}: ${words}`); };
  const isShown = element => element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && element.getClientRects().length > 0;
  const isUnseen = element => Boolean(element.closest(".unseen, .skip"));
  // What lies under an open dialog cannot be reached.
  const open = document.querySelector("dialog[open]");
  const within = list => list.filter(element => isShown(element) && (!open || open.contains(element)));
  const referred = (element, attribute) => (element.getAttribute(attribute) ?? "").split(/\s+/).filter(Boolean);

  /** Accessible name (accname 1.2), without the rules for CSS content and nested controls. */
  function label(element) {
    const by = referred(element, "aria-labelledby").map(id => document.getElementById(id)?.textContent ?? "").join(" ").trim();
    if (by) return by;
    const own = element.getAttribute("aria-label")?.trim();
    if (own) return own;
    if (element.labels?.length) return [...element.labels].map(one => one.textContent).join(" ").trim();
    if (element.matches("img")) return element.getAttribute("alt") ?? "";
    if (element.matches("input, select, textarea")) return element.getAttribute("title") ?? "";
    return [element.textContent, ...[...element.querySelectorAll("img")].map(image => image.alt)].join(" ").trim();
  }

  // Names and roles (1.1.1, 1.3.1, 2.4.6, 4.1.2).
  for (const element of within(all("button, a[href], input, select, textarea, meter, summary, dialog, [role=region], [role=group], [role=listbox], [role=img]"))) {
    expect(label(element) !== "", element, "has no accessible name");
  }
  for (const image of all("img")) expect(image.hasAttribute("alt"), image, "has no alt");
  for (const element of all("[id]")) expect(element.getRootNode().querySelectorAll(`[id="${CSS.escape(element.id)}"]`).length === 1, element, "its id is not unique");
  for (const attribute of ["aria-labelledby", "aria-describedby", "aria-controls", "aria-activedescendant", "for"]) {
    for (const element of all(`[${attribute}]`)) {
      for (const id of referred(element, attribute)) expect(document.getElementById(id), element, `${attribute} names ${id}, which does not exist`);
    }
  }
  for (const element of all("[role=listbox] > *")) expect(element.getAttribute("role") === "option", element, "is in a listbox and no option");
  for (const element of all("ul > *, ol > *")) expect(element.tagName === "LI", element, "is in a list and no item of it");
  for (const element of all("th")) expect(element.scope, element, "a heading of a table without scope");
  for (const element of all("table")) expect(element.caption, element, "a table without a caption");

  // Landmarks and headings (1.3.1, 2.4.1).
  for (const selector of ["main", "h1"]) if (all(selector).length !== 1) faults.push(`${all(selector).length} of ${selector} in place of 1`);
  const headers = all("header").length;
  if (headers > 1) faults.push(`${headers} headers`);
  const navigations = all("nav").map(element => element.getAttribute("aria-label"));
  if (navigations.some(one => !one) || new Set(navigations).size !== navigations.length) faults.push(`navigations are called ${navigations}`);
  if (!document.documentElement.lang || !document.title) faults.push("the page has no language or title");
  if (!all("[role=status], [aria-live=polite]").length) faults.push("there is no live region");
  let level = 0;
  for (const heading of within(all("h1, h2, h3, h4"))) {
    const next = Number(heading.tagName[1]);
    expect(open || next <= level + 1, heading, `follows a heading of level ${level}`);
    level = next;
  }

  // Focus order (2.1.1, 2.4.3): that of the document, which is that of the page, with the way past the header first.
  const stops = within(all("a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), summary, [tabindex]"))
    .filter(element => element.tabIndex >= 0);
  for (const stop of stops) expect(stop.tabIndex === 0, stop, "has a tabindex of its own");
  for (const stop of stops) expect(!stop.closest("[aria-hidden=true], [inert]"), stop, "can have the focus and is hidden from screen readers");
  if (!open && navigations.length && !stops[0]?.matches(".skip")) faults.push("the first stop does not lead past the header");
  for (const element of all("[onclick], div[role=button], span[role=button]")) faults.push(`${name(element)}: is no button`);

  // Size of targets (2.5.8): 24 pixels, except links in a sentence.
  for (const element of within(all("button, select, input, summary"))) {
    const { width, height } = element.getBoundingClientRect();
    if (isUnseen(element) || element.matches(".link, [type=radio], [type=checkbox]")) continue;
    expect(width >= 24 && height >= 24, element, `is ${Math.round(width)}×${Math.round(height)} pixels large`);
  }

  // Reflow (1.4.10): nothing lies beside the page.
  if (document.documentElement.scrollWidth > innerWidth + 1) {
    const wide = all("main *").find(element => element.getBoundingClientRect().right > innerWidth + 1 && !element.closest(".scroll, .code, pre"));
    faults.push(`the page is ${document.documentElement.scrollWidth} pixels wide, the window ${innerWidth}: ${wide ? name(wide) : ""}`);
  }

  // Contrast (1.4.3, 1.4.11), from the computed colours.
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const parsed = new Map();
  /** @returns {[number, number, number, number]} 0…255, and 0…1 for alpha. */
  function colour(text) {
    if (!parsed.has(text)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = text;
      canvas.fillRect(0, 0, 1, 1);
      const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
      parsed.set(text, [red, green, blue, alpha / 255]);
    }
    return parsed.get(text);
  }
  const over = ([r, g, b, alpha], below) => [r, g, b].map((value, index) => value * alpha + below[index] * (1 - alpha));
  const luminance = rgb => rgb.map(value => value / 255).map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
    .reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
  const contrast = (one, other) => { const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a); return (high + 0.05) / (low + 0.05); };
  /** The colour behind an element, or `null` where it is a picture. */
  function behind(element) {
    const layers = [];
    for (let at = element; at; at = host(at)) {
      const style = getComputedStyle(at);
      if (style.backgroundImage !== "none" || at.matches(".panes, .canvas, co-stream-player")) return null;
      const layer = colour(style.backgroundColor);
      layers.push(layer);
      if (layer[3] === 1) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  }
  const texts = (open ? [open] : [document.body, ...roots.slice(1)]).flatMap(root => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), nodes = [];
    while (walker.nextNode()) nodes.push(walker.currentNode);
    return nodes;
  });
  for (const node of texts) {
    const element = node.parentElement;
    if (!element || !node.data.trim() || !isShown(element) || isUnseen(element) || element.closest(":disabled, [aria-busy], option, noscript, style, svg, .old")) continue;
    const style = getComputedStyle(element), back = behind(element);
    if (!back) continue;
    const size = parseFloat(style.fontSize), least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const found = contrast(over(colour(style.color), back), back);
    expect(found >= least, element, `contrast ${found.toFixed(2)}, at least ${least}`);
  }
  for (const element of within(all("input:not([type=range], [type=radio], [type=checkbox]), select"))) {
    const found = contrast(over(colour(getComputedStyle(element).borderTopColor), behind(element.parentElement) ?? [0, 0, 0]), behind(element.parentElement) ?? [0, 0, 0]);
    expect(found >= 3, element, `its border has a contrast of ${found.toFixed(2)}, at least 3`);
  }
  return [...new Set(faults)];
})()
