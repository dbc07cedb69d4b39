/* Runs inside a floor plan, after its own script: uses it as a person would, holds what is drawn
 * against what the page says of it, and leaves what is wrong, or "ok", in the page's data-test. */
"use strict";
(async () => {
  const check = (ok, what) => { if (!ok) throw new Error(what); };
  const frame = () => new Promise(done => setTimeout(() => { if (pending) paint(); done(); }, 1));
  const box = canvas.getBoundingClientRect();
  const mouse = (type, x, y, more) => canvas.dispatchEvent(new (type === "wheel" ? WheelEvent : PointerEvent)(type,
    { clientX: box.left + x, clientY: box.top + y, bubbles: true, cancelable: true, pointerId: 1, ...more }));
  const painted = async () => { await frame(); return Number(root.dataset.painted); };

  await frame();
  check(root.dataset.state === "ready" && !root.dataset.error, "the page did not start");
  check($("label").textContent.startsWith("predicted by the machine model " + D.machine), "it is not said to be predicted");
  check($("launches").children.length === D.launches.length && D.launches.length > 0, "no launches");
  check(firstOf(0) === 0 && firstOf(D.dies) === D.cus, "the dies do not make up the chip");

  for (let i = 0; i < D.launches.length; i++) {
    $("launches").children[i].click();
    const drawn = await painted();
    if (L.why) {
      check(drawn === 0 && $("why").textContent.includes(L.why), "a launch that is not predicted does not say so");
      continue;
    }
    check(Math.abs(L.body + L.wait + L.schedule - 1) < 0.01, "the shares do not add up");
    check(drawn === L.count && drawn > 0, drawn + " bars drawn of " + L.count);
    check($("cards").textContent.includes(time(L.us)), "the time is not shown");
    check($("legend").rows.length === new Set(L.grids.map((_, g) => keyOf(g))).size, "the legend lacks a row");
    const part = L.grids.reduce((sum, g) => sum + g[5], 0) / (L.us * D.cus);
    check(Math.abs(part - L.body) < 0.01 + 0.02 * part, "the grids' time is not the launch's: " + part + ", " + L.body);
    for (let r = 0; r < D.cus; r++) {
      let end = 0;
      for (const [grid, from, to] of bars[r]) {
        const [name, , first, last, dynamic] = L.grids[grid];
        const a = Math.floor(D.cus * first / 1e6), b = Math.max(Math.floor(D.cus * last / 1e6), a + 1);
        check(dynamic || r >= a && r < b, name + " runs outside its range, on " + r);
        check(from >= end - 1e-6 && to >= from && to <= 1, "two bars of rank " + r + " overlap");
        end = to;
      }
    }

    const r = bars.findIndex(b => b.length), [grid, from, to] = bars[r][0];
    mouse("pointermove", X((from + to) / 2), Y(r) + rowH() / 2);
    check($("tip").style.display === "block" && $("tip").textContent.includes(L.grids[grid][0]) &&
      $("tip").textContent.includes("die " + dies[r]), "no tooltip");
    mouse("pointermove", 5, 5);
    check($("tip").style.display === "none", "the tooltip stays");
    mouse("wheel", (W + LEFT) / 2, H / 2, { deltaY: -240 });
    await frame();
    check(t1 - t0 < 0.7, "the wheel does not zoom");
    const before = t0;
    mouse("pointerdown", W / 2, H / 2);
    mouse("pointermove", W / 2 - 90, H / 2);
    dispatchEvent(new PointerEvent("pointerup"));
    check(t0 > before, "dragging does not move");
    $("fit").click();
    check(t0 === 0 && t1 === 1, "the whole launch is not shown again");
    for (const tr of $("legend").rows) tr.click();
    check(await painted() === 0, "the legend hides nothing");
    for (const tr of $("legend").rows) tr.click();
    check(await painted() === drawn, "the legend does not bring back");
  }
  root.dataset.test = "ok";
})().catch(e => { root.dataset.test = e.message; });
